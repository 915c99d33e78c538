import type { Message } from '../domain/message.ts'
import type { Run, RunStatus } from '../domain/run.ts'
import type { SessionKey } from '../domain/session.ts'

export interface MessageQuery {
  /** Ids strictly after or before. */
  readonly after?: string
  readonly before?: string
  readonly order: 'ascending' | 'descending'
  readonly limit: number
  /** Characters of content after which a page ends, with one message at least. */
  readonly mostCharacters?: number
  readonly roles?: readonly Message['role'][]
  readonly run?: string
  readonly agent?: string
}

/**
 * Reads a session's log, strongly: everything acknowledged before is seen. A read that fails rejects; it never returns an
 * empty list instead. A page is full unless the log or its
 * `mostCharacters` end it; `more` says whether another follows.
 */
export interface LogReader {
  messages(key: SessionKey, query: MessageQuery): Promise<{ messages: readonly Message[]; more: boolean }>
  message(key: SessionKey, id: string): Promise<Message | undefined>
  run(key: SessionKey, id: string): Promise<Run | undefined>
  /** Newest first; ids strictly before `before`. */
  runs(
    key: SessionKey,
    query: { before?: string; limit: number; status?: RunStatus },
  ): Promise<{ runs: readonly Run[]; more: boolean }>
  /** Runs queued in this session, in the order in which they were accepted. */
  queued(key: SessionKey): Promise<readonly Run[]>
}
