import { sha256 } from '../../../../domain/hash.ts'
import { LEASE_MS, NO_TOTALS, type SessionKey } from '../../../../domain/session.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { DeletionState, SessionDeletion } from '../../../../ports/session-deletion.ts'
import { readAll, readOne, snapshot, transaction, write, type Database } from '../../database.ts'
import { isSearched, mostDocuments } from '../../../../search/documents/documents.ts'
import type { HistoryProjection } from '../../history/documents/projection.ts'
import type { Removed } from '../../history/documents/tables.ts'
import { toColumn } from '../../exact-text.ts'
import { messageOf, SELECT_MESSAGES, type MessageRow } from '../messages/message-rows.ts'
import { encodeTotals, findLiveSession, findSession, saveSession, type SessionRow } from './session-rows.ts'

const TOMBSTONE_MS = 30 * 86_400_000
/** Number of old tombstones that each new one removes, so that they do not accumulate. */
const FORGOTTEN_AT_ONCE = 10
/**
 * Maximum documents that one transaction removes, which takes about 10 ms. A document has some KB, and a long output
 * has very many.
 */
const DOCUMENTS_AT_ONCE = 16

interface Dependencies {
  readonly database: Database
  readonly clock: Clock
  readonly history: HistoryProjection
}

/** Creates the stepwise deletion of sessions on SQLite. */
export function createSqliteSessionDeletion({ database, clock, history }: Dependencies): SessionDeletion {
  return {
    tombstone: async (key, options) => tombstone(database, key, options?.ifExpired ?? false, clock.now()),
    removeRows: async (key, limit) => removeRows(database, history, key, limit),
    markRemoved: async (key, outputs) => markRemoved(database, key, outputs, clock.now()),
    finish: async (key) => finish(database, key),
    state: async (key, owner) => state(database, key, owner, clock.now()),
  }
}

function tombstone(database: Database, key: SessionKey, ifExpired: boolean, now: number): boolean {
  return transaction(database, () => {
    const row = findLiveSession(database, key)
    if (row === undefined) return false
    if (ifExpired && (row.expiresAt === null || row.expiresAt > now || row.due !== null)) return false
    saveSession(database, row, {
      ...row,
      live: 0,
      generation: row.generation + 1,
      leaseOwner: null,
      leaseUntil: null,
      activeRun: null,
      paused: 0,
      waiting: 0,
      queued: 0,
      cancelRun: null,
      cancelReason: null,
      due: now,
      expiresAt: now + TOMBSTONE_MS,
      owner: row.owner === null ? null : hashOf(row.owner),
      run: null,
      runStatus: null,
      totals: encodeTotals(NO_TOTALS),
      ...{ titleSource: null, messageCount: 0, firstMessageAt: null, lastMessageAt: null, folder: null, source: null },
    })
    write(database, 'INSERT INTO deletions (session) VALUES (?)', row.number)
    forgetOld(database, now)
    return true
  })
}

function forgetOld(database: Database, now: number): void {
  const sql = `SELECT number FROM sessions WHERE live = 0 AND expiresAt IS NOT NULL AND expiresAt <= ? AND due IS NULL
    LIMIT ?`
  for (const { number } of readAll<{ number: number }>(database, sql, now, FORGOTTEN_AT_ONCE)) {
    write(database, 'DELETE FROM deletions WHERE session = ?', number)
    write(database, 'DELETE FROM sessions WHERE number = ?', number)
  }
}

function findTombstone(database: Database, key: SessionKey): SessionRow | undefined {
  const row = findSession(database, key)
  return row?.live === 0 ? row : undefined
}

/** Removes messages first, because they refer to their runs; then runs; and last the tables with few rows. */
function removeRows(database: Database, history: HistoryProjection, key: SessionKey, limit: number): { more: boolean } {
  return transaction(database, () => {
    const row = findTombstone(database, key)
    if (row === undefined) return { more: false }
    const { removed: messages, more } = removeMessages(database, history, row, limit)
    if (more) return { more }
    const runs = messages < limit ? removeRuns(database, row.number, limit - messages) : 0
    if (messages + runs >= limit) return { more: true }
    write(database, 'DELETE FROM claims WHERE session = ?', row.number)
    write(database, 'DELETE FROM names WHERE session = ?', row.number)
    write(database, 'DELETE FROM contexts WHERE session = ?', row.number)
    write(database, 'DELETE FROM deliveries WHERE session = ?', row.number)
    write(database, 'DELETE FROM sources WHERE session = ?', row.number)
    write(database, 'DELETE FROM replacements WHERE session = ?', row.number)
    write(database, 'DELETE FROM openings WHERE session = ?', row.number)
    write(database, 'DELETE FROM details WHERE session = ?', row.number)
    return { more: false }
  })
}

function removeMessages(
  database: Database,
  history: HistoryProjection,
  row: SessionRow,
  limit: number,
): { removed: number; more: boolean } {
  const sql = 'SELECT number, id FROM messages WHERE session = ? ORDER BY id LIMIT ?'
  const messages = readAll<{ number: number; id: string }>(database, sql, row.number, limit)
  let removed = 0
  let documents = 0
  for (const { number, id } of messages) {
    if (documents >= DOCUMENTS_AT_ONCE) break
    const { count, more } = history.removeSome(row, id, DOCUMENTS_AT_ONCE - documents) ?? unmade(database, number)
    documents += count
    if (more) break
    write(database, 'DELETE FROM messages WHERE number = ?', number)
    removed++
  }
  const count = 'UPDATE deletions SET messages = messages + ?, documents = documents + ? WHERE session = ?'
  write(database, count, removed, documents, row.number)
  return { removed, more: removed < messages.length }
}

/** If the message is marked for indexing, returns the maximum number of documents that it could have; otherwise 0. */
function unmade(database: Database, number: number): Removed {
  const sql = `${SELECT_MESSAGES} JOIN historyMarks h ON h.message = m.number WHERE m.number = ?`
  const row = readOne<MessageRow>(database, sql, number)
  return { count: row === undefined ? 0 : documentsOf(row), more: false }
}

function documentsOf(row: MessageRow): number {
  try {
    const message = messageOf(row)
    return isSearched(message) ? mostDocuments(message) : 0
  } catch {
    // An unreadable row has no documents, and must be removed like all others.
    return 0
  }
}

function removeRuns(database: Database, session: number, limit: number): number {
  const sql = 'SELECT number FROM runs WHERE session = ? ORDER BY id LIMIT ?'
  const runs = readAll<{ number: number }>(database, sql, session, limit)
  for (const { number } of runs) {
    write(database, 'DELETE FROM requests WHERE run = ?', number)
    write(database, 'DELETE FROM runs WHERE number = ?', number)
  }
  write(database, 'UPDATE deletions SET runs = runs + ? WHERE session = ?', runs.length, session)
  return runs.length
}

function markRemoved(database: Database, key: SessionKey, outputs: number, now: number): void {
  transaction(database, () => {
    const row = findTombstone(database, key)
    if (row === undefined) return
    const sql = 'UPDATE deletions SET outputs = outputs + ?, removed = 1 WHERE session = ?'
    write(database, sql, outputs, row.number)
    saveSession(database, row, { ...row, due: now + LEASE_MS })
  })
}

function finish(database: Database, key: SessionKey): void {
  transaction(database, () => {
    const row = findTombstone(database, key)
    if (row !== undefined) saveSession(database, row, { ...row, due: null })
  })
}

function state(database: Database, key: SessionKey, owner: string | undefined, now: number): DeletionState | undefined {
  return snapshot(database, () => {
    const row = findTombstone(database, key)
    if (row === undefined || (row.expiresAt ?? now) <= now) return undefined
    if (owner !== undefined && row.owner !== hashOf(toColumn(owner))) return undefined
    const sql = 'SELECT messages, runs, documents, outputs, removed FROM deletions WHERE session = ?'
    const counts = readOne<Record<keyof DeletionState, number>>(database, sql, row.number)
    if (counts === undefined) throw new Error(`tombstone ${row.session} has no counts`)
    return { ...counts, removed: counts.removed === 1 }
  })
}

const hashOf = (owner: string): string => sha256(owner, 'base64url')
