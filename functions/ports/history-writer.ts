import type { HistoryDocument } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'

/** What the index should hold of one message. */
export interface HistoryChange {
  readonly key: SessionKey
  readonly messageId: string
  /** The row's own count of changes. The greatest wins, even if changes come late, twice or out of order. */
  readonly revision: number
  readonly documents: readonly HistoryDocument[]
  /** Parts to remove as of this revision. They need not exist. */
  readonly removed: readonly string[]
}

export type WriteOutcome =
  | { readonly done: true }
  /** Not stored now; a later attempt may succeed. */
  | { readonly done: false; readonly error: string }

/** Keeps a history index in step with the log. */
export interface HistoryWriter {
  /**
   * Returns for each change, in order, whether it is stored. What can never be stored counts as done once the poison
   * sink has it. Rejects with `search_unavailable` if it does not know where to write.
   */
  write(changes: readonly HistoryChange[]): Promise<readonly WriteOutcome[]>
}

/** A document, or a message, that can never be indexed as it is. */
export interface DeadLetter extends SessionKey {
  readonly messageId: string
  /** The refused document; absent when the whole message was refused. */
  readonly part?: string
  readonly error: string
}

/** Keeps what can never be indexed, for people to look at. Durable when it resolves. */
export interface DeadLetterSink {
  send(message: DeadLetter): Promise<void>
}
