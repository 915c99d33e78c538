/** A refusal of the API, or a response that is none of its own: then `problem` says so in the same shape. */
export class ApiProblem extends Error {
    status;
    /** The last part of the problem's `type`, such as `session_not_found`. */
    code;
    problem;
    /** Milliseconds after which to try again, if the response said so. */
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
/** Reads what a response that is not `ok` says. */
export async function problemOf(response) {
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const problem = type.startsWith('application/problem+json') ? JSON.parse(text) : foreign(response, text);
    return new ApiProblem(problem, Number.isFinite(seconds) ? seconds * 1000 : undefined);
}
/** Returns an `ok` response of this type. Throws `unexpected_response` where something else than the API has responded. */
export async function expectType(response, type) {
    if ((response.headers.get('content-type') ?? '').startsWith(type))
        return response;
    throw new ApiProblem(foreign(response, await response.text()), undefined);
}
/** Something between the client and the API has responded. */
const foreign = (response, text) => ({
    type: 'urn:tooltrail:problem:unexpected_response',
    title: response.statusText,
    status: response.status,
    detail: `the response is not one of Tooltrail: ${response.status} ${text.slice(0, 200)}`,
    instance: URL.canParse(response.url) ? new URL(response.url).pathname : '',
    request_id: response.headers.get('x-request-id') ?? '',
});
