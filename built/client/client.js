import { followEvents } from './follow.js';
import { expectType, jsonOf, problemOf, refuseRedirect } from './problem.js';
/** Requests of which the API must know that they are one, however often they are sent. */
const newKey = () => globalThis.crypto.randomUUID();
/** The status of a response to a request with `if-none-match`. */
const NOT_MODIFIED = 304;
const ASYNC = { prefer: 'respond-async' };
const pathOf = (session) => `/v1/sessions/${encodeURIComponent(session)}`;
/**
 * A client of the API that needs nothing but `fetch`. Every refusal is thrown as an `ApiProblem`. `streamMessage`,
 * `streamContinue` and `follow` reconnect by themselves and end with the event that ends or pauses the run.
 */
export function createClient(options) {
    const send = sender(options);
    const json = async (method, path, call = {}) => jsonOf(await send(method, path, call));
    return { ...sessionRequests(send, json), ...logRequests(send, json), ...runRequests(send, json), ...queries(json) };
}
const sessionRequests = (send, json) => ({
    createSession: (body, rest = {}) => json('POST', '/v1/sessions', { body, ...rest }),
    listSessions: (query = {}, rest = {}) => json('GET', '/v1/sessions', { query, ...rest }),
    /** As `listSessions`; undefined if the page is still the one with this tag, which costs no body. */
    listChangedSessions: async (query, etag, rest = {}) => {
        const headers = etag === undefined ? {} : { 'if-none-match': etag };
        const response = await send('GET', '/v1/sessions', { query, headers, ...rest });
        if (response.status === NOT_MODIFIED)
            return undefined;
        return { page: await jsonOf(response), etag: response.headers.get('etag') ?? undefined };
    },
    readSession: (session, rest = {}) => json('GET', pathOf(session), rest),
    changeSession: (session, body) => json('PATCH', pathOf(session), { body }),
    deleteSession: (session) => json('DELETE', pathOf(session)),
    forkSession: (session, body = {}) => json('POST', `${pathOf(session)}/fork`, { body }),
});
const logRequests = (send, json) => ({
    listMessages: (session, query = {}, rest = {}) => json('GET', `${pathOf(session)}/messages`, { query, ...rest }),
    /** A tool result, or with `part` an image or file: whole, or a range of its bytes with both ends included. */
    readOutput: (session, message, { part, range, signal } = {}) => send('GET', `${pathOf(session)}/messages/${message}/output`, {
        query: { part },
        headers: range === undefined ? {} : { range: `bytes=${range[0]}-${range[1]}` },
        signal,
    }),
    /** The log as the lines or the page of its format; the body is read as it comes. */
    exportSession: async (session, query = {}, { signal } = {}) => expectType(await send('GET', `${pathOf(session)}/export`, { query, signal }), query.format === 'markdown' ? 'text/markdown' : 'application/x-ndjson'),
    /** Appends turns that were executed elsewhere: the lines of an export, or others of its formats. */
    importMessages: (session, lines, query = {}, rest = {}) => json('POST', `${pathOf(session)}/import`, { query, lines, ...rest }),
});
const queries = (json) => ({
    readContext: (session, rest = {}) => json('GET', `${pathOf(session)}/context`, rest),
    consolidate: (session) => json('POST', `${pathOf(session)}/consolidate`),
    search: (query, rest = {}) => json('GET', '/v1/search', { query, ...rest }),
    readUsage: (query = {}, rest = {}) => json('GET', '/v1/usage', { query, ...rest }),
});
function runRequests(send, json) {
    const runPath = (session, run) => `${pathOf(session)}/runs/${run}`;
    const events = (session, run, after, signal) => send('GET', `${runPath(session, run)}/events`, {
        headers: after === undefined ? {} : { 'last-event-id': after },
        signal,
    });
    /** Posts and follows what comes of it; a repetition after a lost connection carries the same key. */
    function streamOf(session, path, body, follow) {
        const headers = { accept: 'text/event-stream', 'idempotency-key': newKey() };
        return followEvents(({ run, after }, signal) => run === undefined ? send('POST', path, { body, headers, signal }) : events(session, run, after, signal), follow);
    }
    return {
        /** Responds as soon as the input is durable. `key`: of the first attempt, where the same input is sent again. */
        sendMessage: (session, body, { key = newKey() } = {}) => json('POST', `${pathOf(session)}/messages`, { body, headers: { ...ASYNC, 'idempotency-key': key } }),
        streamMessage: (session, body, follow = {}) => streamOf(session, `${pathOf(session)}/messages`, body, follow),
        streamContinue: (session, follow = {}) => streamOf(session, `${pathOf(session)}/continue`, undefined, follow),
        sendToolResults: (session, run, body) => json('POST', `${runPath(session, run)}/tool-results`, { body, headers: ASYNC }),
        listRuns: (session, query = {}, rest = {}) => json('GET', `${pathOf(session)}/runs`, { query, ...rest }),
        readRun: (session, run, rest = {}) => json('GET', runPath(session, run), rest),
        cancelRun: (session, run) => json('POST', `${runPath(session, run)}/cancel`),
        follow: (session, run, follow = {}) => followEvents((at, signal) => events(session, run, at.after, signal), { ...follow, run }),
    };
}
function sender({ url, key, fetch = globalThis.fetch }) {
    const base = url.replace(/\/+$/, '');
    return async (method, path, { query = {}, body, lines, headers, signal }) => {
        const secret = typeof key === 'function' ? key() : key;
        const given = Object.entries(query).flatMap(([name, value]) => value === undefined ? [] : [[name, String(value)]]);
        const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
        const response = await fetch(`${base}${path}${search}`, {
            method,
            headers: {
                ...(body === undefined ? {} : { 'content-type': 'application/json' }),
                ...(lines === undefined ? {} : { 'content-type': 'application/x-ndjson' }),
                ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
                ...headers,
            },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            ...(lines === undefined ? {} : { body: lines, duplex: 'half' }),
            ...(signal === undefined ? {} : { signal }),
            redirect: 'manual',
        });
        if (response.status === NOT_MODIFIED && headers?.['if-none-match'] !== undefined)
            return response;
        refuseRedirect(response);
        if (!response.ok)
            throw await problemOf(response);
        return response;
    };
}
