import type { RunEvent } from './api-types.js';
export interface FollowOptions {
    readonly signal?: AbortSignal | undefined;
    /** Id of an event. Events are yielded from the start of this event's round, instead of from the run's start. */
    readonly after?: string | undefined;
    /** Called each time the connection is lost, with the reason, before the next attempt. */
    readonly onLost?: ((reason: unknown) => void) | undefined;
}
/** An event of a run. Only events that report stored data have an `id`. */
export interface FollowedEvent {
    readonly id?: string;
    readonly event: RunEvent;
}
/** Opens the stream of a run's events. `run` and `after` are set once they are known. */
export type OpenEvents = (at: {
    readonly run?: string | undefined;
    readonly after?: string | undefined;
}, signal: AbortSignal | undefined) => Promise<Response>;
/**
 * Yields a run's events until the run ends or pauses. Each stored event is yielded once. If the run has already resumed
 * after a pause, that pause is yielded as an ordinary event.
 * Reconnects with the last id if the connection is lost, until `signal` aborts. Before deltas that the new connection
 * repeats, yields `round.restarted`.
 * Throws an `ApiProblem` if a retry cannot help, or if a 429 response asks for a wait of more than ten seconds. Before
 * the first event, also throws after three 429 responses in a row.
 */
export declare function followEvents(open: OpenEvents, options: FollowOptions & {
    readonly run?: string;
}): AsyncGenerator<FollowedEvent, void, undefined>;
/** Whether the error is final: a retry cannot help, or would have to wait too long. */
export declare const isFinal: (error: unknown) => boolean;
/** Milliseconds to wait before the next attempt. */
export declare function waitOf(reason: unknown, failures: number): number;
/** Resolves after `ms` milliseconds, or earlier if the signal aborts. */
export declare function pause(ms: number, signal?: AbortSignal): Promise<void>;
