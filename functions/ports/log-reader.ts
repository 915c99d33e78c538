import type { SessionContext } from '../domain/context.ts'
import type { Message } from '../domain/messages/message.ts'
import type { Run, RunStatus } from '../domain/runs/run.ts'
import type { SessionKey } from '../domain/session.ts'
import type { NumberedSources } from '../domain/messages/source.ts'

export interface MessageQuery {
  /** Ids strictly after or before. */
  readonly after?: string
  readonly before?: string
  readonly order: 'ascending' | 'descending'
  readonly limit: number
  /** Characters of content after which a page ends; a page has at least one message. */
  readonly mostCharacters?: number
  readonly roles?: readonly Message['role'][]
  readonly run?: string
  readonly agent?: string
  /** Messages of members that work for delegate calls with this id. */
  readonly parentToolCallId?: string
}

/**
 * Reads a session's log strongly: it sees everything acknowledged before. A failed read rejects; it never returns an
 * empty list. A page is full unless the log or `mostCharacters` ends it; `more` says whether another follows.
 */
export interface LogReader {
  messages(key: SessionKey, query: MessageQuery): Promise<{ messages: readonly Message[]; more: boolean }>
  /** What policies have decided for the session's requests; empty where nothing was, and for unknown sessions. */
  context(key: SessionKey): Promise<SessionContext>
  /**
   * Numbers of sources as completions recorded them, by rising or falling number; only those that go beyond `after`. At most
   * `limit` results' numbers; `more` says whether others follow.
   */
  sources(
    key: SessionKey,
    query: { readonly order: 'ascending' | 'descending'; readonly after?: number; readonly limit: number },
  ): Promise<{ numbered: readonly NumberedSources[]; more: boolean }>
  message(key: SessionKey, id: string): Promise<Message | undefined>
  run(key: SessionKey, id: string): Promise<Run | undefined>
  /** Newest first; ids strictly before `before`. `mostCharacters`: of what they were asked, as in `MessageQuery`. */
  runs(
    key: SessionKey,
    query: { before?: string; limit: number; status?: RunStatus; mostCharacters?: number },
  ): Promise<{ runs: readonly Run[]; more: boolean }>
  /** Runs queued in this session, in the order in which they were accepted; the first `limit` of them. */
  queued(key: SessionKey, limit?: number): Promise<readonly Run[]>
  /**
   * Ids of queued runs that are to become messages of the running one (`onBusy: steer`), in the order in which they were
   * accepted; the first `limit`. Reads nothing of what else is queued.
   */
  steering(key: SessionKey, limit: number): Promise<readonly string[]>
}
