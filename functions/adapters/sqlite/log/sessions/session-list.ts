import { definedFields } from '../../../../domain/defined-fields.ts'
import type { Session } from '../../../../domain/session.ts'
import {
  INDEXED_METADATA,
  MAX_COMPARED_SESSIONS,
  type MetadataFilter,
  type SessionConditions,
  type SessionFilter,
  type SessionSort,
} from '../../../../domain/session-filter.ts'
import { foreignCursor, readSessionCursor, writeSessionCursor } from '../../../../search/session-cursor.ts'
import { createSessionMatch } from '../../../../search/session-match.ts'
import { readEach, type Database } from '../../database.ts'
import { toColumn } from '../../exact-text.ts'
import { runStatusCode } from '../codes.ts'
import { INDEX_WITHOUT_MESSAGES, indexOf, type LeadingColumn, type SortColumn } from './list-schema.ts'
import type { SessionRow } from './session-rows.ts'

const COLUMNS: { readonly [sort in SessionSort]: SortColumn } = {
  last_message_at: 'lastMessageAt',
  updated_at: 'updatedAt',
  created_at: 'createdAt',
}

/** A condition on a column for which each sort order has an index. */
interface Indexed {
  readonly column: LeadingColumn
  readonly value: string | number
}

/** One range of a list, read from one index. */
interface Range {
  readonly index: string
  readonly column: SortColumn
  /** Whether the range has the sessions without messages, which come last. */
  readonly isWithout: boolean
  readonly leading: Indexed | undefined
  /** The conditions that the index cannot decide. */
  readonly others: readonly Indexed[]
}

/** The position where a page ended: the range, and the time and number of a row. */
interface Place {
  readonly isWithout: boolean
  readonly time: number
  readonly number: number
}

/** Reads the listed fields of a row. */
export interface ListedRows<Shown = Session> {
  session(row: SessionRow): Shown
  /** Returns the session and the opening of its first input, for comparison with a filter. */
  compared(row: SessionRow): { readonly session: Session; readonly opening: string | undefined }
}

/**
 * Returns a page of the matching sessions. One condition selects the index from which the sessions are read in order.
 * The other conditions are then checked, for a limited number of the index's rows. Call it inside a snapshot.
 */
export function listSessions<Shown>(
  database: Database,
  filter: SessionFilter,
  rows: ListedRows<Shown>,
): { readonly sessions: readonly Shown[]; readonly next?: string } {
  const { limit, q } = filter
  const after = placeOf(readSessionCursor(filter))
  const metadata = (filter.metadata ?? []).filter((one) => !isIndexed(one))
  const mustBeRead = q !== undefined || metadata.length > 0
  const match = createSessionMatch({ metadata, ...definedFields({ q }) })
  const sessions: Shown[] = []
  let compared = 0
  let last: Place | undefined
  for (const range of rangesOf(filter))
    for (const row of rowsOf(database, filter, range, after)) {
      if (last !== undefined && (sessions.length === limit || compared === MAX_COMPARED_SESSIONS))
        return { sessions, next: writeSessionCursor(filter, textOf(last)) }
      if (fits(range, row)) sessions.push(rows.session(row))
      if (mustBeRead || range.others.length > 0) compared++
      last = { isWithout: range.isWithout, time: row[range.column] ?? 0, number: row.number }
    }
  return { sessions }

  function fits({ others }: Range, row: SessionRow): boolean {
    if (!others.every(({ column, value }) => row[column] === value)) return false
    if (!mustBeRead) return true
    const { session, opening } = rows.compared(row)
    return match(session, opening)
  }
}

/** See `SessionStore.findIds`. Call it inside a snapshot. */
export function findIds(
  database: Database,
  conditions: SessionConditions,
  { compared }: Pick<ListedRows, 'compared'>,
): readonly string[] | undefined {
  const filter = { ...conditions, sort: 'created_at', limit: MAX_COMPARED_SESSIONS } as const
  const { sessions, next } = listSessions(database, filter, { session: ({ session }) => session, compared })
  return next === undefined ? sessions : undefined
}

function rangesOf(filter: SessionFilter): Range[] {
  const { since, until, sort = 'last_message_at' } = filter
  const column = COLUMNS[sort]
  const conditions = indexedConditions(filter)
  const [leading, ...others] = conditions
  const main: Range = { index: indexOf(column, leading?.column), column, isWithout: false, leading, others }
  if (sort !== 'last_message_at' || since !== undefined || until !== undefined) return [main]
  const without = { index: INDEX_WITHOUT_MESSAGES, column: 'createdAt', isWithout: true } as const
  return [main, { ...without, leading: undefined, others: conditions }]
}

/** Returns the conditions that have an index. The first is the one that usually matches the fewest sessions. */
function indexedConditions({ owner, agent, runStatus, metadata = [] }: SessionFilter): Indexed[] {
  const fields = INDEXED_METADATA.flatMap((column) =>
    metadata
      .filter((one) => one.key === column && isIndexed(one))
      .map(({ value }) => ({ column, value: toColumn(value) })),
  )
  return [
    ...fields.filter(({ column }) => column === 'folder'),
    ...(owner === undefined ? [] : [{ column: 'owner', value: toColumn(owner) } as const]),
    ...fields.filter(({ column }) => column !== 'folder'),
    ...(runStatus === undefined ? [] : [{ column: 'runStatus', value: runStatusCode(runStatus) } as const]),
    ...(agent === undefined ? [] : [{ column: 'agent', value: toColumn(agent) } as const]),
  ]
}

const isIndexed = ({ key, isPrefix }: MetadataFilter): boolean =>
  !isPrefix && INDEXED_METADATA.some((name) => name === key)

type Term = readonly [sql: string, ...values: (string | number)[]]

/** Yields the rows of a range in order, after the position. */
function* rowsOf(
  database: Database,
  filter: SessionFilter,
  range: Range,
  after: Place | undefined,
): Generator<SessionRow> {
  const { column, isWithout } = range
  if (after?.isWithout === true && !isWithout) return
  const [from, to] = [`${column} >= ?`, `${column} <= ?`]
  const since: Term[] = filter.since === undefined ? [] : [[from, filter.since]]
  const until: Term[] = filter.until === undefined ? [] : [[to, filter.until]]
  if (after?.isWithout !== isWithout) {
    yield* select(database, filter, range, [...since, ...until])
    return
  }
  // SQLite would compare a pair of time and number with all rows of that time. So the rows with the time of the
  // cursor's row have a separate statement.
  const comparison = filter.order === 'asc' ? '>' : '<'
  const sameTime: Term[] = [
    [`${column} = ?`, after.time],
    [`number ${comparison} ?`, after.number],
  ]
  yield* select(database, filter, range, sameTime)
  const rest: Term = [`${column} ${comparison} ?`, after.time]
  yield* select(database, filter, range, [rest, ...(filter.order === 'asc' ? until : since)])
}

function select(
  database: Database,
  { tenant, order = 'desc' }: SessionFilter,
  { index, column, isWithout, leading }: Range,
  bounds: readonly Term[],
): IterableIterator<SessionRow> {
  const terms: readonly Term[] = [
    ['live = 1'],
    ['tenant = ?', tenant],
    ...(column === 'lastMessageAt' ? [['lastMessageAt IS NOT NULL'] as const] : []),
    ...(isWithout ? [['lastMessageAt IS NULL'] as const] : []),
    ...(leading === undefined ? [] : [[`${leading.column} = ?`, leading.value] as const]),
    ...bounds,
  ]
  const direction = order === 'desc' ? 'DESC' : 'ASC'
  const sql = `SELECT * FROM sessions INDEXED BY ${index} WHERE ${terms.map(([term]) => term).join(' AND ')}
    ORDER BY ${column} ${direction}, number ${direction}`
  return readEach<SessionRow>(database, sql, ...terms.flatMap(([, ...values]) => values))
}

const BASE = 36

const textOf = ({ isWithout, time, number }: Place): string =>
  `${isWithout ? '_' : ''}${time.toString(BASE)}.${number.toString(BASE)}`

function placeOf(text: string | undefined): Place | undefined {
  if (text === undefined) return undefined
  const [, without, time = '', number = ''] = /^(_?)(-?[0-9a-z]{1,11})\.([0-9a-z]{1,11})$/.exec(text) ?? []
  const place = { isWithout: without === '_', time: parseInt(time, BASE), number: parseInt(number, BASE) }
  if (Number.isSafeInteger(place.time) && Number.isSafeInteger(place.number)) return place
  throw foreignCursor()
}
