import type { Context, Deletion, Import, MessagePage, NewFork, NewMessage, NewSession, Queries, Run, RunPage, SearchPage, Session, SessionChange, SessionPage, Summary, ToolResults, UsagePage } from './api-types.js';
import type { FollowedEvent, FollowOptions } from './follow.js';
export interface ClientOptions {
    /** Base address of the API without `/v1`, such as `http://127.0.0.1:3000`. */
    readonly url: string;
    /** An API key, `tt_…`, or a function that returns the key for each request. */
    readonly key?: string | (() => string | undefined) | undefined;
    /** @default - the global `fetch` */
    readonly fetch?: typeof globalThis.fetch;
}
type Events = AsyncGenerator<FollowedEvent, void, undefined>;
export interface Options {
    readonly signal?: AbortSignal | undefined;
}
/**
 * Creates a client of the API that needs nothing but `fetch`. It throws every error response as an `ApiProblem`.
 * `streamMessage`, `streamContinue` and `follow` reconnect by themselves, and end with the event that ends or pauses
 * the run.
 */
export declare function createClient(options: ClientOptions): {
    createSession: (body: NewSession, rest?: Options) => Promise<Session>;
    listSessions: (query?: SessionsQuery, rest?: Options) => Promise<SessionPage>;
    /** Like `listSessions`, but returns undefined if the page still has this tag. Such a response has no body. */
    listChangedSessions: (query: SessionsQuery, etag: string | undefined, rest?: Options) => Promise<TaggedPage | undefined>;
    readSession: (session: string, rest?: Options) => Promise<Session>;
    changeSession: (session: string, body: SessionChange) => Promise<Session>;
    deleteSession: (session: string) => Promise<Deletion>;
    forkSession: (session: string, body?: NewFork) => Promise<Session>;
    listMessages: (session: string, query?: Omit<Queries['listMessages'], 'format'>, rest?: Options) => Promise<MessagePage>;
    /**
     * Reads the whole content of a tool result or, with `part`, of an image or file. `range`: only these bytes, both ends
     * included.
     */
    readOutput: (session: string, message: string, { part, range, signal }?: {
        part?: string;
        range?: readonly [number, number];
    } & Options) => Promise<Response>;
    /** Exports the log in the given format. The body is a stream. */
    exportSession: (session: string, query?: Queries['exportSession'], { signal }?: Options) => Promise<Response>;
    /** Appends turns that were executed elsewhere: the lines of an export, or of another supported format. */
    importMessages: (session: string, lines: string | ReadableStream<Uint8Array>, query?: Queries['importMessages'], rest?: Options) => Promise<Import>;
    readContext: (session: string, rest?: Options) => Promise<Context>;
    consolidate: (session: string) => Promise<Summary>;
    search: (query: SearchQuery, rest?: Options) => Promise<SearchPage>;
    readUsage: (query?: Queries['readUsage'], rest?: Options) => Promise<UsagePage>;
    /**
     * Sends an input, and resolves as soon as the input is durable. To repeat an input, pass the `key` of its first attempt.
     */
    sendMessage: (session: string, body: NewMessage, { key }?: {
        readonly key?: string;
    }) => Promise<Run>;
    streamMessage: (session: string, body: NewMessage, follow?: FollowOptions) => Events;
    streamContinue: (session: string, follow?: FollowOptions) => Events;
    sendToolResults: (session: string, run: string, body: ToolResults) => Promise<Run>;
    listRuns: (session: string, query?: Queries['listRuns'], rest?: Options) => Promise<RunPage>;
    readRun: (session: string, run: string, rest?: Options) => Promise<Run>;
    cancelRun: (session: string, run: string) => Promise<Run>;
    follow: (session: string, run: string, follow?: FollowOptions) => Events;
};
export type Client = ReturnType<typeof createClient>;
/** Conditions on metadata fields: an exact value, or a prefix followed by `*`. */
export type MetadataQuery = {
    readonly [field: `metadata.${string}`]: string | undefined;
};
export type SessionsQuery = Queries['listSessions'] & MetadataQuery;
export type SearchQuery = Queries['searchHistory'] & MetadataQuery;
/** A page of sessions, with the entity tag that identifies its content. */
export interface TaggedPage {
    readonly page: SessionPage;
    readonly etag: string | undefined;
}
export {};
