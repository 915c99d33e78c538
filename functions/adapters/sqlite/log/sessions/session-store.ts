import { titleCompletion, type Summary } from '../../../../domain/context.ts'
import { definedFields } from '../../../../domain/defined-fields.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import {
  COPY_EXPIRY_MS,
  NO_TOTALS,
  type Session,
  type SessionKey,
  type SessionLabel,
} from '../../../../domain/session.ts'
import { replacesTitle } from '../../../../domain/session-title.ts'
import { titleOf } from '../../../../log/title.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type {
  NewSession,
  SessionAbout,
  SessionChange,
  SessionStore,
  TitleByModel,
} from '../../../../ports/session-store.ts'
import { runStatusOf, titleSourceCode, titleSourceOf } from '../codes.ts'
import { findContext, summariesByHand } from './contexts.ts'
import { readAll, reading, readOne, snapshot, transaction, write, type Database } from '../../database.ts'
import { fromColumn, toColumn } from '../../exact-text.ts'
import { active, counting, expiryOf } from './session-changes.ts'
import { detailsOf, indexedColumns, insertDetails, readDetails, writeDetails, type Details } from './session-details.ts'
import { findIds, listSessions, type ListedRows } from './session-list.ts'
import { counted, messagesOf, outlineOf, readOpening } from './session-outline.ts'
import {
  encodeTotals,
  findLiveSession,
  findSession,
  liveSession,
  saveSession,
  totalsOf,
  type SessionRow,
} from './session-rows.ts'
import { countUsage } from '../usage/usage-rows.ts'

/** Creates the session store for users' requests on SQLite. */
export function createSqliteSessionStore({ database, clock }: { database: Database; clock: Clock }): SessionStore {
  return {
    create: async (session) => create(database, session, clock.now()),
    read: async (key) => read(database, key),
    living: async (tenant, sessions) => living(database, tenant, sessions),
    readLabels: async (tenant, sessions) => snapshot(database, () => readLabels(database, tenant, sessions)),
    findIds: async (conditions) => snapshot(database, () => findIds(database, conditions, listedRows(database))),
    list: async (filter) => snapshot(database, () => listSessions(database, filter, listedRows(database))),
    update: async (key, change) => update(database, key, change, clock.now()),
    ...summariesByHand(database, () => clock.now()),
    describe: async (key, about) => describe(database, key, about),
    recordTitle: async (key, made) => recordTitle(database, key, made),
    bindToOwner: async (key) => bindToOwner(database, key),
  }
}

function create(database: Database, session: NewSession, now: number): Session {
  return transaction(database, () => {
    const before = findSession(database, session)
    if (before !== undefined) removeTombstone(database, before, now)
    const { tenant, session: id, ttlDays = null } = session
    const details = detailsOf(session)
    const columns = {
      ...{ tenant, session: id, agent: toColumn(session.agent), createdAt: now, updatedAt: now, messageCount: 0 },
      owner: session.owner === undefined ? null : toColumn(session.owner),
      ttlDays,
      expiresAt: session.awaitsCopy ? now + COPY_EXPIRY_MS : expiryOf({ ttlDays }, now),
      totals: encodeTotals(NO_TOTALS),
      titleSource: details.title === undefined ? null : titleSourceCode(session.titleSource ?? 'given'),
      ...indexedColumns(details.metadata),
    }
    const names = Object.keys(columns)
    const sql = `INSERT INTO sessions (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) RETURNING *`
    const row = readOne<SessionRow>(database, sql, ...Object.values(columns))
    if (row === undefined) throw new Error(`session ${id} was not inserted`)
    insertDetails(database, row.number, details)
    return sessionOf(row, details)
  })
}

/** Removes a tombstone that is old enough and whose deletion is finished. Throws `session_exists` otherwise. */
function removeTombstone(database: Database, before: SessionRow, now: number): void {
  // The error is the same for a live and a deleted session, so that a caller without access cannot distinguish them.
  if (before.live === 1 || before.due !== null || (before.expiresAt ?? now) > now)
    throw new TooltrailError('session_exists', `session ${before.session} exists, or was deleted less than 30 days ago`)
  write(database, 'DELETE FROM deletions WHERE session = ?', before.number)
  write(database, 'DELETE FROM sessions WHERE number = ?', before.number)
}

function read(database: Database, key: SessionKey): Session | undefined {
  return snapshot(database, () => {
    const row = findLiveSession(database, key)
    return row && listedRows(database).session(row)
  })
}

function living(database: Database, tenant: string, sessions: readonly string[]): ReadonlySet<string> {
  const sql =
    'SELECT session FROM sessions WHERE tenant = ? AND live = 1 AND session IN (SELECT value FROM json_each(?))'
  const rows = reading(database, () => readAll<{ session: string }>(database, sql, tenant, JSON.stringify(sessions)))
  return new Set(rows.map(({ session }) => session))
}

function readLabels(
  database: Database,
  tenant: string,
  sessions: readonly string[],
): ReadonlyMap<string, SessionLabel> {
  const sql = 'SELECT * FROM sessions WHERE tenant = ? AND live = 1 AND session IN (SELECT value FROM json_each(?))'
  const rows = readAll<SessionRow>(database, sql, tenant, JSON.stringify(sessions))
  return new Map(
    rows.map((row) => {
      const { title, metadata } = sessionAt(database, row).session
      return [row.session, { metadata, ...definedFields({ title }) }]
    }),
  )
}

function update(database: Database, key: SessionKey, change: SessionChange, now: number): Session {
  return transaction(database, () => {
    const stored = liveSession(database, key)
    const row = counted(database, stored)
    const before = readDetails(database, row)
    const { title, titleSource } = changedTitle(database, row, before.title, change.title)
    const details = detailsOf({
      ...before,
      title,
      user: change.user === undefined ? before.user : change.user,
      instructions: change.instructions === undefined ? before.instructions : change.instructions,
      metadata: change.metadata ?? before.metadata,
    })
    const agent = change.agent === undefined ? row.agent : toColumn(change.agent)
    const next = active({ ...row, agent, titleSource, ...indexedColumns(details.metadata) }, now)
    saveSession(database, stored, next)
    writeDetails(database, row, details)
    return sessionOf(next, details, findContext(database, row.number).summary)
  })
}

/**
 * Returns the session's title after a change. If the change removes the title, the title of the first input replaces
 * it.
 */
function changedTitle(
  database: Database,
  row: SessionRow,
  before: string | undefined,
  title: SessionChange['title'],
): { readonly title: string | undefined; readonly titleSource: number | null } {
  if (title === undefined) return { title: before, titleSource: row.titleSource }
  if (title !== null) return { title, titleSource: titleSourceCode('given') }
  const made = titleOf(readOpening(database, row) ?? '')
  return { title: made, titleSource: made === undefined ? null : titleSourceCode('input') }
}

function describe(database: Database, key: SessionKey, about: SessionAbout): void {
  transaction(database, () => saveAbout(database, liveSession(database, key), about))
}

function saveAbout(database: Database, stored: SessionRow, { title, metadata = {} }: SessionAbout): void {
  const row = counted(database, stored)
  const before = readDetails(database, row)
  const source = row.titleSource === null ? undefined : titleSourceOf(row.titleSource)
  const isNew = title !== undefined && replacesTitle(title.source, source)
  const details = { ...before, ...(isNew ? { title: title.text } : {}), metadata: { ...before.metadata, ...metadata } }
  const titled = isNew ? { titleSource: titleSourceCode(title.source) } : {}
  saveSession(database, stored, { ...row, ...titled, ...indexedColumns(details.metadata) })
  writeDetails(database, row, details)
}

function recordTitle(database: Database, key: SessionKey, { title, work, account }: TitleByModel): void {
  const completion = titleCompletion(work)
  transaction(database, () => {
    countUsage(database, key, completion, account)
    const row = findLiveSession(database, key)
    if (row === undefined) return
    const next = counting(row, completion)
    saveSession(database, row, next)
    if (title !== undefined) saveAbout(database, next, { title: { text: title, source: 'model' } })
  })
}

function bindToOwner(database: Database, key: SessionKey): void {
  transaction(database, () => {
    const row = liveSession(database, key)
    writeDetails(database, row, { ...readDetails(database, row), ownerBound: true })
  })
}

function listedRows(database: Database): ListedRows {
  return {
    session(row) {
      const { summary } = findContext(database, row.number)
      return { ...sessionAt(database, row).session, ...definedFields({ summary }) }
    },
    compared(row) {
      const { session, opening } = sessionAt(database, row)
      return { session, opening: opening ?? readOpening(database, row) }
    },
  }
}

/**
 * Returns the session of a row, without its summary. If the session's messages are not counted yet, also returns its
 * opening.
 */
function sessionAt(database: Database, row: SessionRow): { readonly session: Session; readonly opening?: string } {
  const details = readDetails(database, row)
  if (row.messageCount !== null) return { session: sessionOf(row, details) }
  const outline = outlineOf(database, row, details)
  return { session: sessionOf(outline.row, outline.details), ...definedFields({ opening: outline.opening?.text }) }
}

function sessionOf(row: SessionRow, details: Details, summary?: Summary): Session {
  return {
    tenant: row.tenant,
    session: row.session,
    agent: fromColumn(row.agent),
    ...(row.owner === null ? {} : { owner: fromColumn(row.owner) }),
    ...details,
    ...(row.titleSource === null ? {} : { titleSource: titleSourceOf(row.titleSource) }),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    ...(row.run === null || row.runStatus === null ? {} : { run: { id: row.run, status: runStatusOf(row.runStatus) } }),
    totals: totalsOf(row),
    messages: messagesOf(row),
    ...definedFields({ summary }),
  }
}
