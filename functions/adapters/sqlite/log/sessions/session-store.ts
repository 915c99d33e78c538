import type { SessionContext } from '../../../../domain/context.ts'
import { definedFields } from '../../../../domain/defined-fields.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import { NO_TOTALS, type Session, type SessionKey } from '../../../../domain/session.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { NewSession, SessionChange, SessionFilter, SessionStore } from '../../../../ports/session-store.ts'
import { runStatusOf } from '../codes.ts'
import { findContext, summariesByHand } from './contexts.ts'
import { readAll, reading, readOne, snapshot, transaction, write, type Database } from '../../database.ts'
import { fromColumn, toColumn } from '../../exact-text.ts'
import { active } from './session-changes.ts'
import { listRows } from './session-list.ts'
import {
  encodeTotals,
  findLiveSession,
  findSession,
  liveSession,
  saveSession,
  totalsOf,
  type SessionRow,
} from './session-rows.ts'

const DAY_MS = 86_400_000

/** What people say about a session, as a row of `details` keeps it. */
type Details = Pick<Session, 'user' | 'title' | 'instructions' | 'metadata' | 'ownerBound' | 'byChannel' | 'forkedFrom'>

/** Sessions as their users see them, on SQLite. */
export function createSqliteSessionStore({ database, clock }: { database: Database; clock: Clock }): SessionStore {
  return {
    create: async (session) => create(database, session, clock.now()),
    read: async (key) => read(database, key),
    living: async (tenant, sessions) => living(database, tenant, sessions),
    list: async (filter) => list(database, filter),
    update: async (key, change) => update(database, key, change, clock.now()),
    ...summariesByHand(database, () => clock.now()),
    bindToOwner: async (key) => bindToOwner(database, key),
  }
}

function create(database: Database, session: NewSession, now: number): Session {
  return transaction(database, () => {
    const before = findSession(database, session)
    if (before !== undefined) makeRoom(database, before, now)
    const sql = `INSERT INTO sessions (tenant, session, agent, owner, createdAt, updatedAt, ttlDays, expiresAt, totals)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *`
    const { tenant, session: id, ttlDays } = session
    const owner = session.owner === undefined ? null : toColumn(session.owner)
    const expiresAt = ttlDays === undefined ? null : now + ttlDays * DAY_MS
    const totals = encodeTotals(NO_TOTALS)
    const row = readOne<SessionRow>(
      database,
      sql,
      ...[tenant, id, toColumn(session.agent), owner, now, now, ttlDays ?? null, expiresAt, totals],
    )
    if (row === undefined) throw new Error(`session ${id} was not inserted`)
    const details = detailsOf(session)
    write(database, 'INSERT INTO details (session, body) VALUES (?, ?)', row.number, JSON.stringify(details))
    return sessionOf(row, details, {})
  })
}

/** Removes a tombstone that is old enough and whose deletion is finished; throws `session_exists` otherwise. */
function makeRoom(database: Database, before: SessionRow, now: number): void {
  // In the same words: whoever may not see the session must not learn whether it lives.
  if (before.live === 1 || before.due !== null || (before.expiresAt ?? now) > now)
    throw new TooltrailError('session_exists', `session ${before.session} exists, or was deleted less than 30 days ago`)
  write(database, 'DELETE FROM deletions WHERE session = ?', before.number)
  write(database, 'DELETE FROM sessions WHERE number = ?', before.number)
}

function read(database: Database, key: SessionKey): Session | undefined {
  return snapshot(database, () => {
    const row = findLiveSession(database, key)
    return row && sessionOf(row, readDetails(database, row), findContext(database, row.number))
  })
}

function living(database: Database, tenant: string, sessions: readonly string[]): ReadonlySet<string> {
  const sql =
    'SELECT session FROM sessions WHERE tenant = ? AND live = 1 AND session IN (SELECT value FROM json_each(?))'
  const rows = reading(database, () => readAll<{ session: string }>(database, sql, tenant, JSON.stringify(sessions)))
  return new Set(rows.map(({ session }) => session))
}

function update(database: Database, key: SessionKey, change: SessionChange, now: number): Session {
  return transaction(database, () => {
    const row = liveSession(database, key)
    const next = active({ ...row, agent: change.agent === undefined ? row.agent : toColumn(change.agent) }, now)
    saveSession(database, row, next)
    const before = readDetails(database, row)
    const details = detailsOf({
      user: change.user === undefined ? before.user : change.user,
      title: change.title === undefined ? before.title : change.title,
      instructions: change.instructions === undefined ? before.instructions : change.instructions,
      metadata: change.metadata ?? before.metadata,
      ownerBound: before.ownerBound,
      byChannel: before.byChannel,
      forkedFrom: before.forkedFrom,
    })
    writeDetails(database, row, details)
    return sessionOf(next, details, findContext(database, row.number))
  })
}

function bindToOwner(database: Database, key: SessionKey): void {
  transaction(database, () => {
    const row = liveSession(database, key)
    writeDetails(database, row, { ...readDetails(database, row), ownerBound: true })
  })
}

function list(database: Database, filter: SessionFilter): Awaited<ReturnType<SessionStore['list']>> {
  return snapshot(database, () => {
    const { rows, ...next } = listRows(database, filter)
    return {
      sessions: rows.map((row) =>
        sessionOf(row, JSON.parse(row.details) as Details, findContext(database, row.number)),
      ),
      ...next,
    }
  })
}

function writeDetails(database: Database, row: SessionRow, details: Details): void {
  write(database, 'UPDATE details SET body = ? WHERE session = ?', JSON.stringify(details), row.number)
}

function readDetails(database: Database, row: SessionRow): Details {
  const details = readOne<{ body: string }>(database, 'SELECT body FROM details WHERE session = ?', row.number)
  if (details === undefined) throw new Error(`session ${row.session} has no details`)
  return JSON.parse(details.body) as Details
}

function detailsOf(given: {
  readonly user?: string | null | undefined
  readonly title?: string | null | undefined
  readonly instructions?: string | null | undefined
  readonly metadata: Session['metadata']
  readonly ownerBound?: true | undefined
  readonly byChannel?: true | undefined
  readonly forkedFrom?: Session['forkedFrom'] | undefined
}): Details {
  return {
    ...(typeof given.user === 'string' ? { user: given.user } : {}),
    ...(typeof given.title === 'string' ? { title: given.title } : {}),
    ...(typeof given.instructions === 'string' ? { instructions: given.instructions } : {}),
    metadata: given.metadata,
    ...definedFields({ ownerBound: given.ownerBound, byChannel: given.byChannel, forkedFrom: given.forkedFrom }),
  }
}

function sessionOf(row: SessionRow, details: Details, { summary }: SessionContext): Session {
  return {
    tenant: row.tenant,
    session: row.session,
    agent: fromColumn(row.agent),
    ...(row.owner === null ? {} : { owner: fromColumn(row.owner) }),
    ...details,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    ...(row.run === null || row.runStatus === null ? {} : { run: { id: row.run, status: runStatusOf(row.runStatus) } }),
    totals: totalsOf(row),
    ...(summary === undefined ? {} : { summary }),
  }
}
