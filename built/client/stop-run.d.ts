import type { Send } from './send.js';
/** A request whose response names a run. */
export interface StoppedRequest {
    /** The run's id; undefined if the response names none. */
    readonly run: Promise<string | undefined>;
    close(): void;
}
export interface Stops {
    /** Cancels the run of this request. The connection stays open until the run is known. */
    stop(chat: string, request: StoppedRequest): void;
    /** Resolves when the chat's earlier runs are cancelled, after five seconds at the latest. */
    settled(chat: string): Promise<void>;
}
/** Cancels runs in the background. A failure is thrown as an uncaught error, because `useChat` has no place for it. */
export declare function createStops(send: Send): Stops;
