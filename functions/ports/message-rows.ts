import type { MessageRange } from '../domain/context.ts'
import type { Message } from '../domain/messages/message.ts'
import type { SessionKey } from '../domain/session.ts'

/** One version of a message's row. */
export interface MessageRow {
  readonly key: SessionKey
  readonly messageId: string
  /** Number of changes of the row. */
  readonly revision: number
  readonly role: Message['role']
  /** Maximum number of documents that an index has for the message. */
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
  /** Maximum number of documents that an index had for the message. */
  readonly documents: number
}

/** Messages whose run was superseded. Their rows did not change. */
export interface SupersededRows {
  readonly key: SessionKey
  readonly range: MessageRange
}

export type RowChange = { readonly stored: MessageRow } | { readonly removed: RemovedRow }

/** Interprets the records of a store's change stream. The stream has the records of one row in the order of its changes. */
export interface RowRecords<StoreRecord> {
  /** The record's position, from which the store can resume. */
  sequence(record: StoreRecord): string
  /** Approximate time of the change, in milliseconds since 1970; undefined if the record has no time. */
  at(record: StoreRecord): number | undefined
  /** The change in this record; undefined for rows that are not messages. */
  change(record: StoreRecord): RowChange | undefined
  /** The messages that this record supersedes; undefined for a record that is not a replacement. */
  superseded(record: StoreRecord): SupersededRows | undefined
}

/** Reads the message rows of a store, to rebuild an index. */
export interface MessageRows {
  /** Reads a row with strong consistency; undefined if it does not exist. */
  row(key: SessionKey, messageId: string): Promise<MessageRow | undefined>
  /** Reads the rows of a session's messages in a range, one after another. A row holds no content until it is read. */
  between(superseded: SupersededRows): AsyncIterable<MessageRow>
  /** Reads one part of the store, in pages. `segments`: number of parts. Rows written during the scan may be missing. */
  scan(segment: number, segments: number): AsyncIterable<readonly MessageRow[]>
}
