/** An error response of the API. If another program responded, `problem` describes that response in the same shape. */
export class ApiProblem extends Error {
    status;
    /** The last part of the problem's `type`, such as `session_not_found`. */
    code;
    problem;
    /** Milliseconds to wait before a retry, if the response names a time. */
    retryAfterMs;
    constructor(problem, retryAfterMs) {
        super(problem.detail);
        this.name = 'ApiProblem';
        this.status = problem.status;
        this.code = problem.type.split(':').at(-1) ?? 'unknown';
        this.problem = problem;
        this.retryAfterMs = retryAfterMs;
    }
}
/** Reads the problem from a response that is not `ok`. */
export async function problemOf(response) {
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    // If the body cannot be read completely, the problem is made from the status alone.
    const text = await response.text().catch(() => '');
    const type = response.headers.get('content-type') ?? '';
    const sent = type.startsWith('application/problem+json') ? fieldsOf(text) : {};
    const problem = { ...foreign(response, text), ...sent, status: response.status };
    return new ApiProblem(problem, Number.isFinite(seconds) ? seconds * 1000 : undefined);
}
/** Returns the valid fields of a problem. Any field may be missing (RFC 9457), and the text may be truncated. */
function fieldsOf(text) {
    const said = parsed(text);
    if (typeof said !== 'object' || said === null)
        return {};
    const { title } = said;
    const fields = Object.entries({ ...(title === undefined ? {} : { detail: title }), ...said });
    return Object.fromEntries(fields.filter(([name, value]) => !TEXTS.has(name) || typeof value === 'string'));
}
const TEXTS = new Set(['type', 'title', 'detail', 'instance', 'request_id']);
function parsed(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined;
    }
}
/** Returns the JSON of an `ok` response. Throws `unexpected_response` for any other body, and for truncated JSON. */
export async function jsonOf(response) {
    const text = await (await expectType(response, 'application/json')).text();
    const value = parsed(text);
    if (value === undefined)
        throw new ApiProblem(foreign(response, text), undefined);
    return value;
}
/**
 * Throws `unexpected_response` for a redirect, because following it loses the method and the key. A browser shows only
 * that a redirect occurred.
 */
export function refuseRedirect(response) {
    const { status, headers, type } = response;
    if (type !== 'opaqueredirect' && !(status >= 300 && status < 400))
        return;
    const where = headers.get('location');
    const detail = `the address redirects ${where === null ? 'elsewhere' : `to ${where}`}: use that one`;
    throw new ApiProblem({ ...foreign(response, ''), detail }, undefined);
}
/** Returns the response if it has this type. Throws `unexpected_response` if another program responded. */
export async function expectType(response, type) {
    if ((response.headers.get('content-type') ?? '').startsWith(type))
        return response;
    throw new ApiProblem(foreign(response, await response.text()), undefined);
}
/** Describes a response that does not come from the API, such as the response of a proxy. */
const foreign = (response, text) => ({
    type: 'urn:tooltrail:problem:unexpected_response',
    title: response.statusText,
    status: response.status,
    detail: `the response is not one of Tooltrail: ${response.status} ${text.slice(0, 200)}`,
    instance: URL.canParse(response.url) ? new URL(response.url).pathname : '',
    request_id: response.headers.get('x-request-id') ?? '',
});
