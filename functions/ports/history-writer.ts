import type { HistoryDocument } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'

/** The documents that the index should have for one message. */
export interface HistoryChange {
  readonly key: SessionKey
  readonly messageId: string
  /**
   * Number of changes of the message's row. The highest revision wins, even if changes arrive late, repeatedly or out of order.
   */
  readonly revision: number
  readonly documents: readonly HistoryDocument[]
  /** Parts that the message no longer has at this revision. They must be removed if the index has them. */
  readonly removed: readonly string[]
}

export type WriteOutcome =
  | { readonly done: true }
  /** The change was not stored; a later attempt may succeed. */
  | { readonly done: false; readonly error: string }

/** Keeps a history index in step with the log. */
export interface HistoryWriter {
  /**
   * Writes the changes. Returns for each change, in order, whether it is stored. A change that can never be stored
   * counts as done as soon as it was sent to the dead-letter sink. Rejects with `search_unavailable` if it is unknown
   * which index must be written.
   */
  write(changes: readonly HistoryChange[]): Promise<readonly WriteOutcome[]>
}

/** A document or message that can never be indexed in its present form. */
export interface DeadLetter extends SessionKey {
  readonly messageId: string
  /** The rejected part; absent if the whole message was rejected. */
  readonly part?: string
  readonly error: string
}

/** Stores dead letters for operators. A dead letter is durable when `send` resolves. */
export interface DeadLetterSink {
  send(message: DeadLetter): Promise<void>
}
