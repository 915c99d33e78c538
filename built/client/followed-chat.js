import { expectType } from './problem.js';
import { sentEvents } from './sse.js';
const NO_CONTENT = 204;
/** The AI SDK recognises a lost connection by a `TypeError` whose message contains the word `network`. */
export const BROKEN = 'network error: the stream ended before its run did';
/**
 * Sends the request and returns the chunks of its run; undefined if no run is in progress. If `abortSignal` aborts,
 * rejects at once and calls `onStop` with the request. The request continues until its `close` is called, because its
 * response may not have named the run yet.
 */
export async function followRun(request, abortSignal, onStop) {
    const connection = new AbortController();
    const opened = openRun(request(connection.signal));
    const stopped = Promise.withResolvers();
    stopped.promise.catch(() => undefined); // If the stream is already in use, `close` ends it.
    const stop = () => {
        stopped.reject(abortSignal?.reason);
        const run = opened.then((one) => one?.start.messageId);
        // `onStop` is called later, because a request that replaces this one starts in the same task.
        queueMicrotask(() => onStop({ run, close: () => connection.abort() }));
    };
    abortSignal?.addEventListener('abort', stop, { once: true });
    const { start, rest } = (await Promise.race([opened, stopped.promise])) ?? {};
    if (start === undefined || rest === undefined)
        return undefined;
    return new ReadableStream({
        start: (controller) => controller.enqueue(start),
        async pull(controller) {
            const { done, value } = await rest.next();
            if (done !== true)
                return controller.enqueue(value);
            abortSignal?.removeEventListener('abort', stop);
            controller.close();
        },
        cancel: () => connection.abort(),
    });
}
/** Reads a stream up to its first chunk, which names the run. */
async function openRun(sent) {
    const response = await sent;
    if (response.status === NO_CONTENT)
        return undefined;
    const { body } = await expectType(response, 'text/event-stream');
    const rest = uiChunks(body ?? new ReadableStream());
    const { value: start } = await rest.next();
    if (start?.type !== 'start' || start.messageId === undefined)
        throw new TypeError(BROKEN);
    return { start, rest };
}
/** Yields the chunks of a stream up to its end mark. A body that ends earlier is a lost connection. */
async function* uiChunks(body) {
    for await (const { data } of sentEvents(body)) {
        if (data === '[DONE]')
            return;
        yield JSON.parse(data);
    }
    throw new TypeError(BROKEN);
}
