import type { SessionHeader, SessionKey, SessionTotals } from '../../../../domain/session.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import { readOne, write, type Database } from '../../database.ts'

/** A row of `sessions`: the header, the columns for lists, and the totals. */
export interface SessionRow extends SessionKey {
  readonly number: number
  readonly live: number
  readonly generation: number
  readonly leaseOwner: string | null
  readonly leaseUntil: number | null
  readonly activeRun: string | null
  readonly paused: number
  readonly waiting: number
  readonly queued: number
  readonly tail: string | null
  readonly head: string | null
  readonly cancelRun: string | null
  readonly cancelReason: 'user' | 'superseded' | null
  readonly takeovers: number
  readonly due: number | null
  readonly agent: string
  readonly owner: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly ttlDays: number | null
  readonly expiresAt: number | null
  /** The latest accepted run, or the run that it was merged into. */
  readonly run: string | null
  readonly runStatus: number | null
  readonly totals: string
  readonly titleSource: number | null
  /** Null if an earlier version stored the session and its messages are not counted yet (`session-outline.ts`). */
  readonly messageCount: number | null
  readonly firstMessageAt: number | null
  readonly lastMessageAt: number | null
  readonly folder: string | null
  readonly source: string | null
}

/** The columns of the header. */
const HEADER_COLUMNS = [
  'tenant',
  'session',
  'live',
  'generation',
  'leaseOwner',
  'leaseUntil',
  'activeRun',
  'paused',
  'waiting',
  'queued',
  'tail',
  'head',
  'cancelRun',
  'cancelReason',
  'takeovers',
  'due',
] as const satisfies readonly (keyof SessionRow)[]

type HeaderRow = Pick<SessionRow, (typeof HEADER_COLUMNS)[number]>

/** Writes only the columns that differ. Indexes of the other columns are not changed. */
export function saveSession(database: Database, before: SessionRow, after: SessionRow): void {
  const names = Object.keys(after) as (keyof SessionRow)[]
  const changed = names.filter((name) => before[name] !== after[name])
  if (changed.length === 0) return
  const sql = `UPDATE sessions SET ${changed.map((name) => `${name} = ?`).join(', ')} WHERE number = ?`
  write(database, sql, ...changed.map((name) => after[name]), before.number)
}

/** Returns the session's row, live or tombstone. */
export function findSession(database: Database, key: SessionKey): SessionRow | undefined {
  return readOne(database, 'SELECT * FROM sessions WHERE tenant = ? AND session = ?', key.tenant, key.session)
}

/** Returns the number of a live session; undefined if it is unknown or deleted. */
export function findLiveNumber(database: Database, { tenant, session }: SessionKey): number | undefined {
  const sql = 'SELECT number FROM sessions WHERE tenant = ? AND session = ? AND live = 1'
  return readOne<Pick<SessionRow, 'number'>>(database, sql, tenant, session)?.number
}

/** Returns the coordination state of a session, live or tombstone. */
export function findHeader(database: Database, { tenant, session }: SessionKey): SessionHeader | undefined {
  const sql = `SELECT ${HEADER_COLUMNS.join(', ')} FROM sessions WHERE tenant = ? AND session = ?`
  const row = readOne<HeaderRow>(database, sql, tenant, session)
  return row && headerOf(row)
}

/** Returns the row of a live session; undefined if it is unknown or deleted. */
export function findLiveSession(database: Database, key: SessionKey): SessionRow | undefined {
  const row = findSession(database, key)
  return row?.live === 1 ? row : undefined
}

export const sessionNotFound = ({ session }: SessionKey): TooltrailError =>
  new TooltrailError('session_not_found', `there is no session ${session}`)

/** Returns the row of a live session. Throws `session_not_found` if there is none. */
export function liveSession(database: Database, key: SessionKey): SessionRow {
  const row = findLiveSession(database, key)
  if (row === undefined) throw sessionNotFound(key)
  return row
}

/** Returns the coordination state of a row. */
export function headerOf(row: HeaderRow): SessionHeader {
  return {
    tenant: row.tenant,
    session: row.session,
    status: row.live === 1 ? 'live' : 'deleted',
    generation: row.generation,
    ...(row.leaseOwner === null ? {} : { lease: { owner: row.leaseOwner, until: row.leaseUntil ?? 0 } }),
    ...(row.activeRun === null ? {} : { activeRun: row.activeRun }),
    paused: row.paused === 1,
    waiting: row.waiting,
    queued: row.queued,
    ...(row.tail === null ? {} : { tail: row.tail }),
    ...(row.head === null ? {} : { head: row.head }),
    ...(row.cancelRun === null ? {} : { cancel: { run: row.cancelRun, reason: row.cancelReason ?? 'user' } }),
    takeovers: row.takeovers,
    ...(row.due === null ? {} : { due: row.due }),
  }
}

/** Encodes totals for a row. */
export const encodeTotals = (totals: SessionTotals): string => JSON.stringify(totals)

/** Decodes the totals of a row. */
export const totalsOf = (row: SessionRow): SessionTotals => JSON.parse(row.totals) as SessionTotals
