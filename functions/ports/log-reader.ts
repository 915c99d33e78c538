import type { SessionContext } from '../domain/context.ts'
import type { Message } from '../domain/messages/message.ts'
import type { Replacement } from '../domain/runs/replacement.ts'
import type { Run, RunStatus } from '../domain/runs/run.ts'
import type { SessionKey } from '../domain/session.ts'
import type { NumberedSources } from '../domain/messages/source.ts'

export interface MessageQuery {
  /** Bounds of the ids, both exclusive. */
  readonly after?: string
  readonly before?: string
  readonly order: 'ascending' | 'descending'
  readonly limit: number
  /** Characters of content after which a page ends; a page has at least one message. */
  readonly mostCharacters?: number
  readonly roles?: readonly Message['role'][]
  readonly run?: string
  readonly agent?: string
  /** Only messages of members whose delegate call has this id. */
  readonly parentToolCallId?: string
}

/**
 * Reads a session's log with strong consistency: reads see all acknowledged writes. A failed read rejects; it never returns an
 * empty list instead. A page has `limit` entries unless it ends earlier, at the end of the log or at `mostCharacters`. `more`:
 * whether another page follows.
 */
export interface LogReader {
  messages(key: SessionKey, query: MessageQuery): Promise<{ messages: readonly Message[]; more: boolean }>
  /** The session's replacements, sorted by `by`. Empty if there are none, or if the session is unknown. */
  replacements(key: SessionKey): Promise<readonly Replacement[]>
  /** The decisions of policies for the session's requests. Empty if there are none, or if the session is unknown. */
  context(key: SessionKey): Promise<SessionContext>
  /**
   * Lists source numbers that completions have recorded, in ascending or descending order. Lists only numbers greater than
   * `after`, and only the numbers of up to `limit` tool results. `more`: whether further numbers follow.
   */
  sources(
    key: SessionKey,
    query: { readonly order: 'ascending' | 'descending'; readonly after?: number; readonly limit: number },
  ): Promise<{ numbered: readonly NumberedSources[]; more: boolean }>
  message(key: SessionKey, id: string): Promise<Message | undefined>
  run(key: SessionKey, id: string): Promise<Run | undefined>
  /**
   * Lists runs with ids less than `before`, newest first. `mostCharacters` limits the characters of their inputs, as in
   * `MessageQuery`.
   */
  runs(
    key: SessionKey,
    query: { before?: string; limit: number; status?: RunStatus; mostCharacters?: number },
  ): Promise<{ runs: readonly Run[]; more: boolean }>
  /** The first `limit` queued runs of this session, in the order in which they were accepted. */
  queued(key: SessionKey, limit?: number): Promise<readonly Run[]>
  /**
   * Ids of the first `limit` queued runs that are to become messages of the current run (`onBusy: steer`), in the order
   * in which they were accepted. Does not read other queued runs.
   */
  steering(key: SessionKey, limit: number): Promise<readonly string[]>
}
