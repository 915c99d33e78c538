import type { Message } from '../domain/messages/message.ts'
import type { SessionKey } from '../domain/session.ts'

/** One state of a message's row. */
export interface MessageRow {
  readonly key: SessionKey
  readonly messageId: string
  /** The row's own count of changes. */
  readonly revision: number
  readonly role: Message['role']
  /** At least the number of documents that it has in an index. */
  readonly documents: number
  /** Also reads what is stored outside the row. Rejects with `SyntaxError` for a row that is not a message. */
  message(): Promise<Message>
}

/** A message whose row was removed. */
export interface RemovedRow {
  readonly key: SessionKey
  readonly messageId: string
  /** Revision of the row's last state. */
  readonly revision: number
  readonly role: Message['role']
  /** At least the number of documents that it had. */
  readonly documents: number
}

export type RowChange = { readonly stored: MessageRow } | { readonly removed: RemovedRow }

/** Reads the records of a store's change stream, which come in the order of the changes of each row. */
export interface RowRecords<StoreRecord> {
  /** The record's position, from which the store can continue. */
  sequence(record: StoreRecord): string
  /** When it was made, about: milliseconds since 1970. Undefined where the record does not say. */
  at(record: StoreRecord): number | undefined
  /** Undefined for rows that are not messages. */
  change(record: StoreRecord): RowChange | undefined
}

/** All message rows, for rebuilding an index. */
export interface MessageRows {
  /** Read strongly. Undefined if there is none. */
  row(key: SessionKey, messageId: string): Promise<MessageRow | undefined>
  /** One of `segments` parts of the store, in pages. What is written meanwhile may be included or not. */
  scan(segment: number, segments: number): AsyncIterable<readonly MessageRow[]>
}
