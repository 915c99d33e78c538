import { MAX_SOURCES, type NumberedSources } from '../../../../domain/messages/source.ts'
import type { LogReader } from '../../../../ports/log-reader.ts'
import { readAll, write, type Database } from '../../database.ts'

/** Adds the source numbers that a completion records. */
export function insertNumbers(database: Database, session: number, numbered: readonly NumberedSources[]): void {
  const sql = 'INSERT INTO sources (session, number, count, message) VALUES (?, ?, ?, ?)'
  for (const { from, count, message } of numbered) write(database, sql, session, from, count, message)
}

/** Returns a page of a session's source numbers. */
export function readNumbers(
  database: Database,
  session: number,
  { order, after = 0, limit }: Parameters<LogReader['sources']>[1],
): Awaited<ReturnType<LogReader['sources']>> {
  // `number > ?` limits the rows that the index reads, and excludes no match. A result has at most `MAX_SOURCES`
  // sources, so the sources of the excluded rows end before `after`.
  const sql = `SELECT number AS "from", count, message FROM sources
    WHERE session = ? AND number > ? AND number + count - 1 > ?
    ORDER BY number ${order === 'ascending' ? 'ASC' : 'DESC'} LIMIT ?`
  const rows = readAll<NumberedSources>(database, sql, session, after - MAX_SOURCES, after, limit + 1)
  return { numbered: rows.slice(0, limit), more: rows.length > limit }
}
