import { randomInt } from 'node:crypto'
import type { SessionKey } from '../../../../domain/session.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'

/**
 * Number of messages, and characters of their documents, whose words are stored at once. This corresponds to four
 * transactions of `merge.ts`.
 */
const MAX_MESSAGES = 1_024
const MAX_CHARACTERS = 1_024_000
/** Range of the random number that identifies a merger, in all processes. */
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
   * Removes the marks of the pending messages, except those that were changed meanwhile, and returns the latter. Call
   * it inside the transaction that stores their words.
   */
  unmark(): number[]
  /** Call it after a rollback. The added messages remain marked, and are indexed again. */
  forget(): void
}

/**
 * A change of a message sets `documents` to -1 (`schema.ts`). A message that is stored in slices has a positive number
 * there (`slices.ts`).
 */
const MARK_PENDING = 'UPDATE historyMarks SET first = 0, stored = ?, documents = 0 WHERE message = ?'
const DELETE_MARKS = 'DELETE FROM historyMarks WHERE message IN (SELECT value FROM json_each(?)) AND stored = ?'
/** Messages of another merger are left to it. Two mergers that took over each other's messages would never finish. */
const SELECT_CHANGED = `SELECT message FROM historyMarks
  WHERE message IN (SELECT value FROM json_each(?)) AND documents IS NOT 0`

/**
 * Whether words of the message's documents are pending in any merger, according to its mark. A crashed merger never
 * stores them.
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
