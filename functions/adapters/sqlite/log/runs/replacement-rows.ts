import { TooltrailError } from '../../../../domain/errors.ts'
import {
  boundsOutside,
  supersededRanges,
  type IdBounds,
  type Replacement,
} from '../../../../domain/runs/replacement.ts'
import { isEnded } from '../../../../domain/runs/run.ts'
import { roleCode } from '../codes.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'
import { findContext } from '../sessions/contexts.ts'
import { withoutMessages } from '../sessions/session-outline.ts'
import type { SessionRow } from '../sessions/session-rows.ts'
import { resolvedRun } from './run-rows.ts'

interface ReplacementRow {
  readonly run: string
  readonly start: string
  readonly first: string | null
  readonly last: string | null
}

/** Returns the replacements of the session with this number, sorted by their runs. */
export function findReplacements(database: Database, session: number): Replacement[] {
  const sql = 'SELECT run, start, first, last FROM replacements WHERE session = ? ORDER BY run'
  return readAll<ReplacementRow>(database, sql, session).map(({ run, start, first, last }) => ({
    by: run,
    from: start,
    ...(first === null || last === null ? {} : { messages: { from: first, through: last } }),
  }))
}

/** Returns the id of the run that `replaces` names. Throws if that run cannot be replaced now. */
export function requireReplaceable(database: Database, row: SessionRow, replaces: string): string {
  const stored = resolvedRun(database, row.number, replaces)
  if (stored === undefined) throw new TooltrailError('run_not_found', `session ${row.session} has no run ${replaces}`)
  if (row.activeRun !== null || row.queued > 0 || !isEnded(stored.run.status))
    throw new TooltrailError('session_busy', `session ${row.session} has a run that has not ended`, { retryable: true })
  const first = firstMessageFrom(database, row, stored.run.id)
  const { through = '' } = findContext(database, row.number).summary ?? {}
  if (first !== undefined && first <= through)
    throw new TooltrailError('summarised', `the summary of session ${row.session} covers run ${stored.run.id}`)
  return stored.run.id
}

/**
 * Adds the replacement: `by` supersedes the runs from `from` on. Returns the session's row, in which the counts and
 * times no longer include the messages of these runs. The caller must save the returned row.
 */
export function supersede(database: Database, row: SessionRow, { by, from }: Replacement): SessionRow {
  const first = firstMessageFrom(database, row, from)
  const before = supersededRanges(findReplacements(database, row.number))
  const count = first === undefined ? 0 : countOutside(database, row, first, boundsOutside(before, {}))
  const sql = 'INSERT INTO replacements (session, run, start, first, last) VALUES (?, ?, ?, ?, ?)'
  write(database, sql, row.number, by, from, first ?? null, first === undefined ? null : row.head)
  if (first === undefined) return row
  return withoutMessages(database, row, count, supersededRanges(findReplacements(database, row.number)))
}

/** Whether the log ends with a superseded message. */
export function endsSuperseded(database: Database, { number, head }: SessionRow): boolean {
  const sql = 'SELECT 1 FROM replacements WHERE session = ? AND last >= ? LIMIT 1'
  return head !== null && readOne(database, sql, number, head) !== undefined
}

/** Returns the first message of this run or of a later run. */
function firstMessageFrom(database: Database, { number }: SessionRow, run: string): string | undefined {
  const sql = `SELECT m.id FROM runs r JOIN messages m ON m.run = r.number
    WHERE r.session = ? AND r.id >= ? ORDER BY r.id, m.number LIMIT 1`
  return readOne<{ id: string }>(database, sql, number, run)?.id
}

/**
 * Counts the messages from `first` on, within the bounds `outside`. Counts only kinds of messages that the session's
 * count includes.
 */
function countOutside(database: Database, { number }: SessionRow, first: string, outside: readonly IdBounds[]): number {
  const sql = `SELECT count(*) AS count FROM messages WHERE session = ? AND id >= ? AND id > ? AND id < ?
    AND parent IS NULL AND role IN (${roleCode('user')}, ${roleCode('assistant')})`
  return outside
    .filter(({ before }) => before === undefined || before > first)
    .map(({ after = '', before = AFTER_ALL_IDS }) =>
      readOne<{ count: number }>(database, sql, number, first, after, before),
    )
    .reduce((sum, row) => sum + (row?.count ?? 0), 0)
}

/** Sorts after every ULID. */
const AFTER_ALL_IDS = '~'
