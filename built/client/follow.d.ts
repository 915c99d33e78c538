import type { RunEvent } from './api-types.js';
export interface FollowOptions {
    readonly signal?: AbortSignal | undefined;
    /** Id of an event: only what comes after it, from the start of its round. */
    readonly after?: string | undefined;
    /** Told each time the connection is lost, with the reason, before the next attempt. */
    readonly onLost?: ((reason: unknown) => void) | undefined;
}
/** An event of a run; `id` if it reports something stored. */
export interface FollowedEvent {
    readonly id?: string;
    readonly event: RunEvent;
}
/** Opens the stream of a run's events. `run` and `after` as far as they are known. */
export type OpenEvents = (at: {
    readonly run?: string | undefined;
    readonly after?: string | undefined;
}, signal: AbortSignal | undefined) => Promise<Response>;
/**
 * A run's events, each stored one once, to its end or to the pause that goes on: earlier pauses are told in their places, too.
 * A connection that breaks is opened again with the last id, for as long as `signal` does not abort. Deltas that the new
 * connection repeats are preceded by a `round.restarted`. Throws an `ApiProblem` when the API refuses for good, or with 429 for
 * longer than ten seconds; before the first event also when it has refused three times in a row.
 */
export declare function followEvents(open: OpenEvents, options: FollowOptions & {
    readonly run?: string;
}): AsyncGenerator<FollowedEvent, void, undefined>;
/** Trying again would not help, or not soon. */
export declare const isFinal: (error: unknown) => boolean;
