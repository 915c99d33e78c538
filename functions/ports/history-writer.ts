import type { HistoryDocument } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'

/** What the index is to hold of one message. */
export interface HistoryChange {
  readonly key: SessionKey
  readonly messageId: string
  /** The row's own count of changes. Whatever comes late, twice or out of order: the greatest stays. */
  readonly revision: number
  readonly documents: readonly HistoryDocument[]
  /** Parts to remove, as of this revision. Those that are not there are fine. */
  readonly removed: readonly string[]
}

export type WriteOutcome =
  | { readonly done: true }
  /** Not stored for now; the same again later may be. */
  | { readonly done: false; readonly error: string }

/** Keeps a history index in step with the log. */
export interface HistoryWriter {
  /**
   * Answers for each change whether it is stored, in their order. What can never be stored counts as done, after it was handed
   * to whoever looks after such cases. Rejects with `search_unavailable` when it is not known where to write.
   */
  write(changes: readonly HistoryChange[]): Promise<readonly WriteOutcome[]>
}

/** A document, or a message, that can never be indexed as it is. */
export interface PoisonedMessage extends SessionKey {
  readonly messageId: string
  /** What was refused; absent when all of the message was. */
  readonly part?: string
  readonly error: string
}

/** Takes what can never be indexed, to be looked at by people. Durable when it resolves. */
export interface PoisonSink {
  send(message: PoisonedMessage): Promise<void>
}
