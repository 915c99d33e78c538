import type { Message } from '../domain/messages/message.ts'
import type { SessionKey } from '../domain/session.ts'

/** One version of a message's row. */
export interface MessageRow {
  readonly key: SessionKey
  readonly messageId: string
  /** The row's own count of changes. */
  readonly revision: number
  readonly role: Message['role']
  /** An upper bound of the number of documents that it has in an index. */
  readonly documents: number
  /**
   * Reads the message, including content stored outside of the row. Rejects with `SyntaxError` if the row is not a
   * message.
   */
  message(): Promise<Message>
}

/** A message whose row was removed. */
export interface RemovedRow {
  readonly key: SessionKey
  readonly messageId: string
  /** Revision of the row's last version. */
  readonly revision: number
  readonly role: Message['role']
  /** An upper bound of the number of documents that it had. */
  readonly documents: number
}

export type RowChange = { readonly stored: MessageRow } | { readonly removed: RemovedRow }

/** Reads the records of a store's change stream. The records of one row come in the order of its changes. */
export interface RowRecords<StoreRecord> {
  /** The record's position, from which the store can resume. */
  sequence(record: StoreRecord): string
  /** Approximate time of the record, in milliseconds since 1970; undefined if the record has none. */
  at(record: StoreRecord): number | undefined
  /** The change in this record; undefined for rows that are not messages. */
  change(record: StoreRecord): RowChange | undefined
}

/** Reads all message rows, for rebuilding an index. */
export interface MessageRows {
  /** Reads a row with strong consistency; undefined if it does not exist. */
  row(key: SessionKey, messageId: string): Promise<MessageRow | undefined>
  /** Reads one of `segments` parts of the store, in pages. Rows written meanwhile may be missing. */
  scan(segment: number, segments: number): AsyncIterable<readonly MessageRow[]>
}
