import { randomInt } from 'node:crypto'
import type { SessionKey } from '../../../../domain/session.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'

/**
 * Limits of the pending messages: their number, and the characters of their documents. When one is reached, the pending
 * words are stored. Each limit is four times that of a transaction in `merge.ts`.
 */
const MAX_MESSAGES = 1_024
const MAX_CHARACTERS = 1_024_000
/** Range of the random number that identifies a merger among the mergers of all processes. */
const MERGERS = 2 ** 47

/**
 * Tracks messages whose documents are stored but whose words are not (`tables.ts`). They remain marked until their
 * words are stored too.
 */
export interface PendingMessages {
  isEmpty(): boolean
  /** Whether enough messages for one transaction are pending. */
  isMany(): boolean
  has(number: number): boolean
  /**
   * Adds a message whose documents have `chars` characters. Call it inside the transaction that stores the documents.
   */
  add(number: number, chars: number): void
  /**
   * Removes the marks of the pending messages. Keeps the marks of messages that have changed since they were added, and
   * returns these messages. Call it inside the transaction that stores their words.
   */
  unmark(): number[]
  /** Forgets the added messages. Call it after a rollback: the messages remain marked, and are indexed again. */
  forget(): void
}

/**
 * Sets a message's mark while its words are pending: `documents` is 0, and `stored` is the merger. A change of the
 * message sets `documents` to -1 (`schema.ts`). While a message is stored in slices, `documents` is positive
 * (`slices.ts`).
 */
const MARK_PENDING = 'UPDATE historyMarks SET first = 0, stored = ?, documents = 0 WHERE message = ?'
const DELETE_MARKS = 'DELETE FROM historyMarks WHERE message IN (SELECT value FROM json_each(?)) AND stored = ?'
/**
 * Omits messages whose words are pending in another merger. Two mergers that took over each other's messages would
 * never finish.
 */
const SELECT_CHANGED = `SELECT message FROM historyMarks
  WHERE message IN (SELECT value FROM json_each(?)) AND documents IS NOT 0`

/**
 * Whether the message's mark shows pending words, of any merger. Words of a crashed merger remain pending, because it
 * never stores them.
 */
export function hasPendingWords(database: Database, { tenant, session }: SessionKey, messageId: string): boolean {
  const sql = `SELECT 1 FROM sessions s JOIN messages m ON m.session = s.number JOIN historyMarks h ON h.message = m.number
    WHERE s.tenant = ? AND s.session = ? AND m.id = ? AND h.documents <= 0`
  return readOne(database, sql, tenant, session, messageId) !== undefined
}

/** Creates the pending messages of one merger. */
export function createPendingMessages(database: Database): PendingMessages {
  const numbers = new Set<number>()
  let pending = 0
  const forget = (): void => {
    numbers.clear()
    pending = 0
  }
  const merger = randomInt(MERGERS)
  return {
    isEmpty: () => numbers.size === 0,
    isMany: () => numbers.size >= MAX_MESSAGES || pending >= MAX_CHARACTERS,
    has: (number) => numbers.has(number),
    add(number, chars) {
      write(database, MARK_PENDING, merger, number)
      numbers.add(number)
      pending += chars
    },
    unmark() {
      const all = JSON.stringify([...numbers])
      forget()
      write(database, DELETE_MARKS, all, merger)
      return readAll<{ message: number }>(database, SELECT_CHANGED, all).map(({ message }) => message)
    },
    forget,
  }
}
