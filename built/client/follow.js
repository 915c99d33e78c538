import { ApiProblem, expectType } from './problem.js';
import { sentEvents } from './sse.js';
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 5_000;
/**
 * Maximum wait that a 429 response may ask for. For a longer one, such as that of a daily limit, the error is thrown.
 */
const MAX_RETRY_AFTER_MS = 10_000;
/** Maximum wait for a server that is down, even if its response asks for more. */
const MAX_OUTAGE_WAIT_MS = 60_000;
/** Maximum number of retries after 429 responses until the run is known. */
const MAX_FIRST_RETRIES = 2;
const ENDS = ['run.completed', 'run.failed', 'run.cancelled'];
/**
 * Yields a run's events until the run ends or pauses. Each stored event is yielded once. If the run has already resumed
 * after a pause, that pause is yielded as an ordinary event.
 * Reconnects with the last id if the connection is lost, until `signal` aborts. Before deltas that the new connection
 * repeats, yields `round.restarted`.
 * Throws an `ApiProblem` if a retry cannot help, or if a 429 response asks for a wait of more than ten seconds. Before
 * the first event, also throws after three 429 responses in a row.
 */
export async function* followEvents(open, options) {
    const { signal, onLost } = options;
    const seen = new Set();
    let { run, after } = options;
    let streaming;
    let failures = 0;
    let isPaused = false;
    const gone = () => signal?.aborted === true;
    while (!gone()) {
        let reason = 'the stream ended before the run did';
        try {
            const response = await expectType(await open({ run, after }, signal), 'text/event-stream');
            for await (const { id, data } of sentEvents(response.body ?? new ReadableStream())) {
                failures = 0;
                const event = JSON.parse(data);
                run = event.run_id;
                isPaused = event.type === 'run.paused';
                if (id !== undefined) {
                    after = id;
                    if (seen.has(id))
                        continue;
                    seen.add(id);
                    streaming = undefined;
                }
                else if (event.type.endsWith('.delta'))
                    streaming = event;
                yield { event, ...(id === undefined ? {} : { id }) };
                if (ENDS.includes(event.type))
                    return;
            }
            if (isPaused)
                return;
        }
        catch (error) {
            if (isFinal(error) || (isRefusal(error) && run === undefined && failures >= MAX_FIRST_RETRIES))
                throw error;
            reason = error;
        }
        if (gone())
            return;
        if (streaming !== undefined && 'round' in streaming) {
            const { session_id, run_id, round } = streaming;
            yield { event: { type: 'round.restarted', session_id, run_id, round, reason: 'connection lost' } };
            streaming = undefined;
        }
        onLost?.(reason);
        await pause(waitOf(reason, failures++), signal);
    }
}
const isRefusal = (error) => error instanceof ApiProblem && error.status === 429;
/** Whether the error is final: a retry cannot help, or would have to wait too long. */
export const isFinal = (error) => error instanceof ApiProblem &&
    error.status < 500 &&
    error.status !== 408 &&
    (error.status !== 429 || (error.retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS);
/** Milliseconds to wait before the next attempt. */
export function waitOf(reason, failures) {
    const asked = reason instanceof ApiProblem ? Math.min(MAX_OUTAGE_WAIT_MS, reason.retryAfterMs ?? 0) : 0;
    return Math.max(asked, Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)));
}
/** Resolves after `ms` milliseconds, or earlier if the signal aborts. */
export function pause(ms, signal) {
    return new Promise((resolve) => {
        const done = () => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', done);
            resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener('abort', done);
    });
}
