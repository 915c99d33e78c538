/** One server-sent event, with the fields that the API uses. */
export interface SentEvent {
    readonly id?: string;
    readonly data: string;
}
/**
 * Yields the events of a body as they arrive. Comments and events without data are omitted. Ends when the body ends.
 */
export declare function sentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent, void, undefined>;
