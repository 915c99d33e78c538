import type { Context, Deletion, Import, MessagePage, NewFork, NewMessage, NewSession, Queries, Run, RunPage, SearchPage, Session, SessionChange, SessionPage, Summary, ToolResults, UsagePage } from './api-types.js';
import type { FollowedEvent, FollowOptions } from './follow.js';
export interface ClientOptions {
    /** Where the API is, such as `http://127.0.0.1:3000`: what precedes `/v1`. */
    readonly url: string;
    /** An API key, `tt_…`; asked for at each request. */
    readonly key?: string | (() => string | undefined) | undefined;
    /** @default - the global one */
    readonly fetch?: typeof globalThis.fetch;
}
type Events = AsyncGenerator<FollowedEvent, void, undefined>;
export interface Options {
    readonly signal?: AbortSignal | undefined;
}
/**
 * A client of the API that needs nothing but `fetch`. Every refusal is thrown as an `ApiProblem`. `streamMessage`,
 * `streamContinue` and `follow` reconnect by themselves and end with the event that ends or pauses the run.
 */
export declare function createClient(options: ClientOptions): {
    createSession: (body: NewSession, rest?: Options) => Promise<Session>;
    listSessions: (query?: SessionsQuery, rest?: Options) => Promise<SessionPage>;
    /** As `listSessions`; undefined if the page is still the one with this tag, which costs no body. */
    listChangedSessions: (query: SessionsQuery, etag: string | undefined, rest?: Options) => Promise<TaggedPage | undefined>;
    readSession: (session: string, rest?: Options) => Promise<Session>;
    changeSession: (session: string, body: SessionChange) => Promise<Session>;
    deleteSession: (session: string) => Promise<Deletion>;
    forkSession: (session: string, body?: NewFork) => Promise<Session>;
    listMessages: (session: string, query?: Omit<Queries['listMessages'], 'format'>, rest?: Options) => Promise<MessagePage>;
    /** A tool result, or with `part` an image or file: whole, or a range of its bytes with both ends included. */
    readOutput: (session: string, message: string, { part, range, signal }?: {
        part?: string;
        range?: readonly [number, number];
    } & Options) => Promise<Response>;
    /** The log as the lines or the page of its format; the body is read as it comes. */
    exportSession: (session: string, query?: Queries['exportSession'], { signal }?: Options) => Promise<Response>;
    /** Appends turns that were executed elsewhere: the lines of an export, or others of its formats. */
    importMessages: (session: string, lines: string | ReadableStream<Uint8Array>, query?: Queries['importMessages'], rest?: Options) => Promise<Import>;
    readContext: (session: string, rest?: Options) => Promise<Context>;
    consolidate: (session: string) => Promise<Summary>;
    search: (query: SearchQuery, rest?: Options) => Promise<SearchPage>;
    readUsage: (query?: Queries['readUsage'], rest?: Options) => Promise<UsagePage>;
    /** Responds as soon as the input is durable. `key`: of the first attempt, where the same input is sent again. */
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
/** Conditions on fields of the metadata: a value, or its beginning with `*` behind it. */
export type MetadataQuery = {
    readonly [field: `metadata.${string}`]: string | undefined;
};
export type SessionsQuery = Queries['listSessions'] & MetadataQuery;
export type SearchQuery = Queries['searchHistory'] & MetadataQuery;
/** A page of sessions, and the tag by which it is known again. */
export interface TaggedPage {
    readonly page: SessionPage;
    readonly etag: string | undefined;
}
export {};
