import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionFilter } from '../../../../ports/session-store.ts'
import { readAll, readOne, type Database } from '../../database.ts'
import { toColumn } from '../../exact-text.ts'
import { runStatusCode } from '../codes.ts'
import type { SessionRow } from './session-rows.ts'

/** Sessions read for one page, some milliseconds' work, where an index alone does not tell which match. */
const MOST_LOOKED_AT = 2_000

export interface ListedRow extends SessionRow {
  readonly details: string
}

type Value = string | number
type Condition = readonly [sql: string, value: Value]

/**
 * Inside a snapshot: a page of the sessions that match, newest activity first. One condition leads, whose index has them in this
 * order; of what it finds a bounded number is compared with the others, and the next page goes on behind it.
 */
export function listRows(
  database: Database,
  filter: SessionFilter,
): { readonly rows: readonly ListedRow[]; readonly next?: string } {
  const { limit } = filter
  const [leading, ...others] = conditionsOf(filter)
  const after = filter.after === undefined ? undefined : positionOf(filter.after)
  const led = [
    'live = 1 AND tenant = ?',
    ...(leading === undefined ? [] : [leading[0]]),
    ...(after === undefined ? [] : ['(updatedAt, session) < (?, ?)']),
  ].join(' AND ')
  const values: Value[] = [filter.tenant, ...(leading === undefined ? [] : [leading[1]]), ...(after ?? [])]
  const most = others.length === 0 ? limit + 1 : MOST_LOOKED_AT
  const sql = `SELECT s.*, d.body AS details
    FROM (SELECT * FROM sessions WHERE ${led} ORDER BY updatedAt DESC, session DESC LIMIT ?) s
    JOIN details d ON d.session = s.number
    ${others.length === 0 ? '' : `WHERE ${others.map(([condition]) => `s.${condition}`).join(' AND ')}`}
    ORDER BY s.updatedAt DESC, s.session DESC LIMIT ?`
  const bound = others.map(([, value]) => value)
  const found = readAll<ListedRow>(database, sql, ...values, most, ...bound, limit + 1)
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : others.length > 0 ? lastLookedAt() : undefined
  return { rows, ...(last === undefined ? {} : { next: cursorOf(last) }) }

  /** The last session that was compared, if there are more behind it. */
  function lastLookedAt(): Pick<SessionRow, 'updatedAt' | 'session'> | undefined {
    const at = `SELECT updatedAt, session FROM sessions WHERE ${led} ORDER BY updatedAt DESC, session DESC LIMIT 1 OFFSET ?`
    return readOne(database, at, ...values, MOST_LOOKED_AT - 1)
  }
}

/** What the filter asks for beside the tenant: first what leads to few. */
function conditionsOf({ owner, agent, runStatus }: SessionFilter): Condition[] {
  return [
    ...(owner === undefined ? [] : [['owner = ?', toColumn(owner)] as const]),
    ...(runStatus === undefined ? [] : [['runStatus = ?', runStatusCode(runStatus)] as const]),
    ...(agent === undefined ? [] : [['agent = ?', toColumn(agent)] as const]),
  ]
}

/** Cursors say where the previous page ended, so they stay valid whatever is added or removed. */
const cursorOf = ({ updatedAt, session }: Pick<SessionRow, 'updatedAt' | 'session'>): string =>
  Buffer.from(`${updatedAt}:${session}`).toString('base64url')

function positionOf(cursor: string): [updatedAt: number, session: string] {
  const [, updatedAt, session] = /^(\d{1,15}):(.+)$/su.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (updatedAt === undefined || session === undefined)
    throw new TooltrailError('invalid_query', 'the cursor is not one that a list of sessions gave out')
  return [Number(updatedAt), session]
}
