/** One server-sent event, as far as the API uses them. */
export interface SentEvent {
    readonly id?: string;
    readonly data: string;
}
/** The events of a body as they come in. Comments and events without data are left out. Ends when the body ends. */
export declare function sentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent, void, undefined>;
