import { problemOf, refuseRedirect } from './problem.js';
/** Status of a response to `if-none-match` if the page is unchanged. */
export const NOT_MODIFIED = 304;
/** Returns a function that sends requests with the key. It throws every error response as an `ApiProblem`. */
export function createSender({ url, key, fetch = globalThis.fetch }) {
    const base = url.replace(/\/+$/, '');
    return async (method, path, { query = {}, body, lines, headers, signal, keepalive = false }) => {
        const secret = typeof key === 'function' ? await key() : key;
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
            ...(keepalive ? { keepalive } : {}),
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
