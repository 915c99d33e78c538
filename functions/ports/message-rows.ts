import type { Message } from '../domain/message.ts'
import type { SessionKey } from '../domain/session.ts'

/** A message as one state of its row tells it. */
export interface MessageRow {
  readonly key: SessionKey
  readonly messageId: string
  /** The row's own count of changes. */
  readonly revision: number
  /** Reads what stands apart from the row, too. Rejects with `SyntaxError` for what is no message. */
  message(): Promise<Message>
}

/** A message whose row was removed. */
export interface RemovedRow {
  readonly key: SessionKey
  readonly messageId: string
  /** Of the row as it was last. */
  readonly revision: number
  readonly role: Message['role']
  /** How many documents it had at most. */
  readonly documents: number
}

export type RowChange = { readonly stored: MessageRow } | { readonly removed: RemovedRow }

/** Understands the records by which a store tells how its rows have changed, in the order of the changes of each row. */
export interface RowRecords<StoreRecord> {
  /** The record's place, by which the store is told where to go on. */
  sequence(record: StoreRecord): string
  /** Undefined for rows that are no messages. */
  change(record: StoreRecord): RowChange | undefined
}

/** All message rows there are, for building an index anew. */
export interface MessageRows {
  /** Read strongly. Undefined when there is none. */
  row(key: SessionKey, messageId: string): Promise<MessageRow | undefined>
  /** One of `segments` parts of the store, in pages. What is written meanwhile may be among them or not. */
  scan(segment: number, segments: number): AsyncIterable<readonly MessageRow[]>
}
