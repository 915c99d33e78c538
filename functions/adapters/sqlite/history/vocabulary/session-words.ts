import { readAll, readOne, write, type Database } from '../../database.ts'

/** Words of a row: a row for each would cost many times as much to write, and more of them longer to forget at a time. */
const WORDS_IN_ROW = 100

/** Inside a transaction: adds words, of letters and digits alone. Those that the session has already take room twice. */
export function addSessionWords(database: Database, session: number, words: readonly string[]): void {
  for (let start = 0; start < words.length; start += WORDS_IN_ROW)
    write(
      database,
      'INSERT INTO historySessionWords (session, words) VALUES (?, ?)',
      session,
      words.slice(start, start + WORDS_IN_ROW).join(' '),
    )
}

/** All words that the session has, each once and in no order. */
export function sessionWords(database: Database, session: number): string[] {
  const sql = 'SELECT words FROM historySessionWords WHERE session = ?'
  return [...new Set(readAll<{ words: string }>(database, sql, session).flatMap(({ words }) => words.split(' ')))]
}

/** Inside a transaction: removes rows of the session with about so many words, one at least; returns their words, each once. */
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
