import type { HistoryDocument } from '../../domain/history.ts'
import type { Message } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'

/** What stands in the history index of one message. */
export interface MessageDocuments {
  readonly messageId: string
  readonly documents: readonly HistoryDocument[]
}

/**
 * Keeps the history index in step with the log, in the log's own transaction. Computing is apart from writing because it may
 * read an offloaded output and redact, neither of which may happen while a transaction is open.
 */
export interface HistoryProjection {
  /** A message's documents, still without an owner; none for what is not searchable. May read an offloaded output, and redacts. */
  documents(message: Message, session: { readonly key: SessionKey }): Promise<readonly HistoryDocument[]>
  /** Inside the caller's transaction: replaces all documents of these messages. Searches find them from its commit on. */
  write(key: SessionKey, messages: readonly MessageDocuments[]): void
  /** Inside the caller's transaction: removes the documents of these messages; answers how many documents. */
  remove(key: SessionKey, messageIds: readonly string[]): number
}
