import { randomInt } from 'node:crypto'
import type { SessionKey } from '../../../../domain/session.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'

/** Messages, and characters of their documents, whose words are stored at once: those of four transactions (`merge.ts`). */
const MAX_MESSAGES = 1_024
const MAX_CHARACTERS = 1_024_000
/** Tells the marks of one merger from those of all others, in whichever process. */
const MERGERS = 2 ** 47

/** Messages whose documents are stored and whose words are not (`tables.ts`): they stay marked until these are, too. */
export interface PendingMessages {
  isEmpty(): boolean
  /** Whether there are as many as one transaction settles. */
  isMany(): boolean
  has(number: number): boolean
  /** Inside the transaction that puts the documents of a message, which have so many characters. */
  add(number: number, chars: number): void
  /** Inside the transaction that stores their words: takes their marks away; returns those that were changed meanwhile, which keep them. */
  settle(): number[]
  /** Call when a transaction was undone: what was added stays marked, and is indexed again. */
  forget(): void
}

/** A change of a message makes `documents` -1 (`schema.ts`). One in slices has documents (`slices.ts`). */
const MARK_PENDING = 'UPDATE historyMarks SET first = 0, stored = ?, documents = 0 WHERE message = ?'
const SETTLE = 'DELETE FROM historyMarks WHERE message IN (SELECT value FROM json_each(?)) AND stored = ?'
/** What another merger has stored since is its to settle: two that take each other's up would never end. */
const SELECT_CHANGED = `SELECT message FROM historyMarks
  WHERE message IN (SELECT value FROM json_each(?)) AND documents IS NOT 0`

/**
 * Whether the mark of the message says that words of its documents are pending, of whatever merger: one that has died stores them
 * nowhere.
 */
export function hasPendingWords(database: Database, { tenant, session }: SessionKey, messageId: string): boolean {
  const sql = `SELECT 1 FROM sessions s JOIN messages m ON m.session = s.number JOIN historyMarks h ON h.message = m.number
    WHERE s.tenant = ? AND s.session = ? AND m.id = ? AND h.documents <= 0`
  return readOne(database, sql, tenant, session, messageId) !== undefined
}

/** Those of one merger. */
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
    settle() {
      const all = JSON.stringify([...numbers])
      forget()
      write(database, SETTLE, all, merger)
      return readAll<{ message: number }>(database, SELECT_CHANGED, all).map(({ message }) => message)
    },
    forget,
  }
}
