import { followEvents } from './follow.js';
import { expectType, jsonOf } from './problem.js';
import { createSender, NOT_MODIFIED } from './send.js';
/** Returns an idempotency key. All attempts of one request share a key, so that the API executes it once. */
const newKey = () => globalThis.crypto.randomUUID();
const ASYNC = { prefer: 'respond-async' };
const pathOf = (session) => `/v1/sessions/${encodeURIComponent(session)}`;
/**
 * Creates a client of the API that needs nothing but `fetch`. It throws every error response as an `ApiProblem`.
 * `streamMessage`, `streamContinue` and `follow` reconnect by themselves, and end with the event that ends or pauses
 * the run.
 */
export function createClient(options) {
    const send = createSender(options);
    const json = async (method, path, call = {}) => jsonOf(await send(method, path, call));
    return { ...sessionRequests(send, json), ...logRequests(send, json), ...runRequests(send, json), ...queries(json) };
}
const sessionRequests = (send, json) => ({
    createSession: (body, rest = {}) => json('POST', '/v1/sessions', { body, ...rest }),
    listSessions: (query = {}, rest = {}) => json('GET', '/v1/sessions', { query, ...rest }),
    /** Like `listSessions`, but returns undefined if the page still has this tag. Such a response has no body. */
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
    /**
     * Reads the whole content of a tool result or, with `part`, of an image or file. `range`: only these bytes, both ends
     * included.
     */
    readOutput: (session, message, { part, range, signal } = {}) => send('GET', `${pathOf(session)}/messages/${message}/output`, {
        query: { part },
        headers: range === undefined ? {} : { range: `bytes=${range[0]}-${range[1]}` },
        signal,
    }),
    /** Exports the log in the given format. The body is a stream. */
    exportSession: async (session, query = {}, { signal } = {}) => expectType(await send('GET', `${pathOf(session)}/export`, { query, signal }), query.format === 'markdown' ? 'text/markdown' : 'application/x-ndjson'),
    /** Appends turns that were executed elsewhere: the lines of an export, or of another supported format. */
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
    /** Sends the request and follows its run. A retry after a lost connection sends the same idempotency key. */
    function streamOf(session, path, body, follow) {
        const headers = { accept: 'text/event-stream', 'idempotency-key': newKey() };
        return followEvents(({ run, after }, signal) => run === undefined ? send('POST', path, { body, headers, signal }) : events(session, run, after, signal), follow);
    }
    return {
        /**
         * Sends an input, and resolves as soon as the input is durable. To repeat an input, pass the `key` of its first attempt.
         */
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
