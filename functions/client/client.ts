import type {
  Context,
  Deletion,
  Import,
  MessagePage,
  NewFork,
  NewMessage,
  NewSession,
  Queries,
  Run,
  RunPage,
  SearchPage,
  Session,
  SessionChange,
  SessionPage,
  Summary,
  ToolResults,
  UsagePage,
} from './api-types.ts'
import { followEvents } from './follow.ts'
import type { FollowedEvent, FollowOptions } from './follow.ts'
import { expectType, jsonOf } from './problem.ts'
import { createSender, NOT_MODIFIED } from './send.ts'
import type { Call, Send } from './send.ts'

export interface ClientOptions {
  /** Base address of the API without `/v1`, such as `http://127.0.0.1:3000`. */
  readonly url: string
  /** An API key, `tt_…`, or a function that returns the key for each request. */
  readonly key?: string | (() => string | undefined) | undefined
  /** @default - the global `fetch` */
  readonly fetch?: typeof globalThis.fetch
}

type Events = AsyncGenerator<FollowedEvent, void, undefined>
export interface Options {
  readonly signal?: AbortSignal | undefined
}

/** Returns an idempotency key. All attempts of one request share a key, so that the API executes it once. */
const newKey = (): string => globalThis.crypto.randomUUID()
const ASYNC = { prefer: 'respond-async' }
const pathOf = (session: string): string => `/v1/sessions/${encodeURIComponent(session)}`

/**
 * Creates a client of the API that needs nothing but `fetch`. It throws every error response as an `ApiProblem`.
 * `streamMessage`, `streamContinue` and `follow` reconnect by themselves, and end with the event that ends or pauses
 * the run.
 */
export function createClient(options: ClientOptions) {
  const send = createSender(options)
  const json: Json = async <Result>(method: string, path: string, call: Call = {}) =>
    jsonOf<Result>(await send(method, path, call))
  return { ...sessionRequests(send, json), ...logRequests(send, json), ...runRequests(send, json), ...queries(json) }
}

export type Client = ReturnType<typeof createClient>

type Json = <Result>(method: string, path: string, call?: Call) => Promise<Result>

/** Conditions on metadata fields: an exact value, or a prefix followed by `*`. */
export type MetadataQuery = { readonly [field: `metadata.${string}`]: string | undefined }
export type SessionsQuery = Queries['listSessions'] & MetadataQuery
export type SearchQuery = Queries['searchHistory'] & MetadataQuery

/** A page of sessions, with the entity tag that identifies its content. */
export interface TaggedPage {
  readonly page: SessionPage
  readonly etag: string | undefined
}

const sessionRequests = (send: Send, json: Json) => ({
  createSession: (body: NewSession, rest: Options = {}) => json<Session>('POST', '/v1/sessions', { body, ...rest }),
  listSessions: (query: SessionsQuery = {}, rest: Options = {}) =>
    json<SessionPage>('GET', '/v1/sessions', { query, ...rest }),
  /** Like `listSessions`, but returns undefined if the page still has this tag. Such a response has no body. */
  listChangedSessions: async (
    query: SessionsQuery,
    etag: string | undefined,
    rest: Options = {},
  ): Promise<TaggedPage | undefined> => {
    const headers = etag === undefined ? {} : { 'if-none-match': etag }
    const response = await send('GET', '/v1/sessions', { query, headers, ...rest })
    if (response.status === NOT_MODIFIED) return undefined
    return { page: await jsonOf<SessionPage>(response), etag: response.headers.get('etag') ?? undefined }
  },
  readSession: (session: string, rest: Options = {}) => json<Session>('GET', pathOf(session), rest),
  changeSession: (session: string, body: SessionChange) => json<Session>('PATCH', pathOf(session), { body }),
  deleteSession: (session: string) => json<Deletion>('DELETE', pathOf(session)),
  forkSession: (session: string, body: NewFork = {}) => json<Session>('POST', `${pathOf(session)}/fork`, { body }),
})

const logRequests = (send: Send, json: Json) => ({
  listMessages: (session: string, query: Omit<Queries['listMessages'], 'format'> = {}, rest: Options = {}) =>
    json<MessagePage>('GET', `${pathOf(session)}/messages`, { query, ...rest }),
  /**
   * Reads the whole content of a tool result or, with `part`, of an image or file. `range`: only these bytes, both ends
   * included.
   */
  readOutput: (
    session: string,
    message: string,
    { part, range, signal }: { part?: string; range?: readonly [number, number] } & Options = {},
  ) =>
    send('GET', `${pathOf(session)}/messages/${message}/output`, {
      query: { part },
      headers: range === undefined ? {} : { range: `bytes=${range[0]}-${range[1]}` },
      signal,
    }),
  /** Exports the log in the given format. The body is a stream. */
  exportSession: async (session: string, query: Queries['exportSession'] = {}, { signal }: Options = {}) =>
    expectType(
      await send('GET', `${pathOf(session)}/export`, { query, signal }),
      query.format === 'markdown' ? 'text/markdown' : 'application/x-ndjson',
    ),
  /** Appends turns that were executed elsewhere: the lines of an export, or of another supported format. */
  importMessages: (
    session: string,
    lines: string | ReadableStream<Uint8Array>,
    query: Queries['importMessages'] = {},
    rest: Options = {},
  ) => json<Import>('POST', `${pathOf(session)}/import`, { query, lines, ...rest }),
})

const queries = (json: Json) => ({
  readContext: (session: string, rest: Options = {}) => json<Context>('GET', `${pathOf(session)}/context`, rest),
  consolidate: (session: string) => json<Summary>('POST', `${pathOf(session)}/consolidate`),
  search: (query: SearchQuery, rest: Options = {}) => json<SearchPage>('GET', '/v1/search', { query, ...rest }),
  readUsage: (query: Queries['readUsage'] = {}, rest: Options = {}) =>
    json<UsagePage>('GET', '/v1/usage', { query, ...rest }),
})

function runRequests(send: Send, json: Json) {
  const runPath = (session: string, run: string): string => `${pathOf(session)}/runs/${run}`
  const events = (session: string, run: string, after: string | undefined, signal: AbortSignal | undefined) =>
    send('GET', `${runPath(session, run)}/events`, {
      headers: after === undefined ? {} : { 'last-event-id': after },
      signal,
    })
  /** Sends the request and follows its run. A retry after a lost connection sends the same idempotency key. */
  function streamOf(session: string, path: string, body: unknown, follow: FollowOptions): Events {
    const headers = { accept: 'text/event-stream', 'idempotency-key': newKey() }
    return followEvents(
      ({ run, after }, signal) =>
        run === undefined ? send('POST', path, { body, headers, signal }) : events(session, run, after, signal),
      follow,
    )
  }
  return {
    /**
     * Sends an input, and resolves as soon as the input is durable. To repeat an input, pass the `key` of its first attempt.
     */
    sendMessage: (session: string, body: NewMessage, { key = newKey() }: { readonly key?: string } = {}) =>
      json<Run>('POST', `${pathOf(session)}/messages`, { body, headers: { ...ASYNC, 'idempotency-key': key } }),
    streamMessage: (session: string, body: NewMessage, follow: FollowOptions = {}): Events =>
      streamOf(session, `${pathOf(session)}/messages`, body, follow),
    streamContinue: (session: string, follow: FollowOptions = {}): Events =>
      streamOf(session, `${pathOf(session)}/continue`, undefined, follow),
    sendToolResults: (session: string, run: string, body: ToolResults) =>
      json<Run>('POST', `${runPath(session, run)}/tool-results`, { body, headers: ASYNC }),
    listRuns: (session: string, query: Queries['listRuns'] = {}, rest: Options = {}) =>
      json<RunPage>('GET', `${pathOf(session)}/runs`, { query, ...rest }),
    readRun: (session: string, run: string, rest: Options = {}) => json<Run>('GET', runPath(session, run), rest),
    cancelRun: (session: string, run: string) => json<Run>('POST', `${runPath(session, run)}/cancel`),
    follow: (session: string, run: string, follow: FollowOptions = {}): Events =>
      followEvents((at, signal) => events(session, run, at.after, signal), { ...follow, run }),
  }
}
