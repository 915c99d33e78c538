import type { UIMessageChunk } from 'ai';
import type { StoppedRequest } from './stop-run.js';
/** The AI SDK recognises a lost connection by a `TypeError` whose message contains the word `network`. */
export declare const BROKEN = "network error: the stream ended before its run did";
/**
 * Sends the request and returns the chunks of its run; undefined if no run is in progress. If `abortSignal` aborts,
 * rejects at once and calls `onStop` with the request. The request continues until its `close` is called, because its
 * response may not have named the run yet.
 */
export declare function followRun(request: (signal: AbortSignal) => Promise<Response>, abortSignal: AbortSignal | undefined, onStop: (request: StoppedRequest) => void): Promise<ReadableStream<UIMessageChunk> | undefined>;
