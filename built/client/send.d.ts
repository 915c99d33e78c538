/** Status of a response to `if-none-match` if the page is unchanged. */
export declare const NOT_MODIFIED = 304;
/** One request of the API. */
export interface Call {
    readonly query?: object | undefined;
    /** Sent as JSON. */
    readonly body?: unknown;
    /** JSON lines, sent unchanged. */
    readonly lines?: string | ReadableStream<Uint8Array> | undefined;
    readonly headers?: {
        readonly [name: string]: string;
    };
    readonly signal?: AbortSignal | undefined;
    /** Whether a browser finishes the request even if the page that sent it is closed. */
    readonly keepalive?: boolean;
}
export type Send = (method: string, path: string, call: Call) => Promise<Response>;
interface SenderOptions {
    readonly url: string;
    /** The key, or a function that returns it for each request. */
    readonly key?: string | (() => string | undefined | Promise<string>) | undefined;
    readonly fetch?: typeof globalThis.fetch | undefined;
}
/** Returns a function that sends requests with the key. It throws every error response as an `ApiProblem`. */
export declare function createSender({ url, key, fetch }: SenderOptions): Send;
export {};
