import { isFinal, pause, waitOf } from './follow.js';
import { ApiProblem } from './problem.js';
/** Time limit for one request that cancels a run. */
const CANCEL_TIMEOUT_MS = 10_000;
/** Retries of a cancel. With backoff, the retries take about 15 seconds. */
const MAX_RETRIES = 6;
/** Time limit for a request that was stopped before its response named the run. */
const OPEN_TIMEOUT_MS = 60_000;
/** Status of the response to a cancel if the session was deleted. */
const NOT_FOUND = 404;
/** Maximum time that the next request waits until an earlier run is cancelled. */
const MAX_WAIT_MS = 5_000;
/** Cancels runs in the background. A failure is thrown as an uncaught error, because `useChat` has no place for it. */
export function createStops(send) {
    const pending = new Map();
    return {
        stop(chat, request) {
            const stopping = stopRequest(send, chat, request)
                .catch(reportUncaught)
                .finally(() => {
                if (pending.get(chat) === stopping)
                    pending.delete(chat);
            });
            pending.set(chat, stopping);
        },
        async settled(chat) {
            const stopping = pending.get(chat);
            if (stopping !== undefined)
                await Promise.race([stopping, pause(MAX_WAIT_MS)]);
        },
    };
}
async function stopRequest(send, chat, { run, close }) {
    const timer = setTimeout(close, OPEN_TIMEOUT_MS);
    let id;
    try {
        id = await run;
    }
    catch (error) {
        if (isRefusal(error))
            return;
        throw error;
    }
    finally {
        clearTimeout(timer);
        close();
    }
    if (id !== undefined)
        await cancelRun(send, chat, id);
}
/** Whether the API refused the request. A refused request has started no run. */
const isRefusal = (error) => error instanceof ApiProblem && error.status < 500;
async function cancelRun(send, chat, run) {
    const path = `/v1/sessions/${encodeURIComponent(chat)}/runs/${run}/cancel`;
    for (let failures = 0;; failures++) {
        try {
            const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
            // A user may close the page right after a click on its stop button.
            await (await send('POST', path, { keepalive: true, signal })).body?.cancel();
            return;
        }
        catch (error) {
            if (error instanceof ApiProblem && error.status === NOT_FOUND)
                return;
            if (isFinal(error) || failures >= MAX_RETRIES)
                throw error;
            await pause(waitOf(error, failures));
        }
    }
}
function reportUncaught(cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    queueMicrotask(() => {
        throw new Error(`stop() failed, and the run may continue: ${reason}`, { cause });
    });
}
