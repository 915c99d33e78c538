import { isBlocked, type SessionKey } from '../../../domain/session.ts'
import type { SessionJanitor } from '../../../ports/session-janitor.ts'
import { readAll, snapshot, transaction, type Database } from '../database.ts'
import { findLiveSession, headerOf, saveSession } from './session-rows.ts'

/** What runs by the clock, on SQLite. */
export function createSqliteSessionJanitor({ database }: { database: Database }): SessionJanitor {
  return {
    due: async (now, limit) => {
      const sql = 'SELECT tenant, session FROM sessions WHERE due IS NOT NULL AND due <= ? ORDER BY due LIMIT ?'
      return keys(database, sql, now, limit)
    },
    clearDue: async (key) => clearDue(database, key),
    expired: async (now, limit) => {
      const sql = `SELECT tenant, session FROM sessions
        WHERE live = 1 AND expiresAt IS NOT NULL AND expiresAt <= ? AND due IS NULL ORDER BY expiresAt LIMIT ?`
      return keys(database, sql, now, limit)
    },
  }
}

function keys(database: Database, sql: string, now: number, limit: number): SessionKey[] {
  const rows = snapshot(database, () => readAll<SessionKey>(database, sql, now, limit))
  return rows.map(({ tenant, session }) => ({ tenant, session }))
}

function clearDue(database: Database, key: SessionKey): boolean {
  return transaction(database, () => {
    const row = findLiveSession(database, key)
    if (row === undefined || row.leaseOwner !== null) return false
    const idle = row.activeRun === null && row.queued === 0
    if (!idle && !isBlocked(headerOf(row))) return false
    saveSession(database, row, { ...row, due: null })
    return true
  })
}
