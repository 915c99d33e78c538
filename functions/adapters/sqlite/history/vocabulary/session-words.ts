import { readAll, readOne, write, type Database } from '../../database.ts'

/**
 * Words per row. Rows with one word each would be many times as expensive to write. Rows with more words would make
 * each step of a removal longer.
 */
const WORDS_IN_ROW = 100

/**
 * Adds words to a session. Words have only letters and digits. A word that the session already has is stored again.
 * Call it inside a transaction.
 */
export function addSessionWords(database: Database, session: number, words: readonly string[]): void {
  for (let start = 0; start < words.length; start += WORDS_IN_ROW)
    write(
      database,
      'INSERT INTO historySessionWords (session, words) VALUES (?, ?)',
      session,
      words.slice(start, start + WORDS_IN_ROW).join(' '),
    )
}

/** Returns all words of the session, without duplicates, in no order. */
export function sessionWords(database: Database, session: number): string[] {
  const sql = 'SELECT words FROM historySessionWords WHERE session = ?'
  return [...new Set(readAll<{ words: string }>(database, sql, session).flatMap(({ words }) => words.split(' ')))]
}

/**
 * Removes rows of the session with about `limit` words, at least one row, and returns their words without duplicates.
 * Call it inside a transaction.
 */
export function takeSessionWords(database: Database, session: number, limit: number): string[] {
  const sql = 'SELECT id, words FROM historySessionWords WHERE session = ? LIMIT ?'
  const rows = readAll<{ id: number; words: string }>(
    database,
    sql,
    session,
    limit < 0 ? limit : Math.ceil(limit / WORDS_IN_ROW),
  )
  for (const { id } of rows) write(database, 'DELETE FROM historySessionWords WHERE id = ?', id)
  return [...new Set(rows.flatMap(({ words }) => words.split(' ')))]
}

export const hasSessionWords = (database: Database, session: number): boolean =>
  readOne(database, 'SELECT 1 FROM historySessionWords WHERE session = ? LIMIT 1', session) !== undefined
