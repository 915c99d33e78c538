import { isBlocked, type SessionKey } from '../../../../domain/session.ts'
import { fairShares } from '../../../../domain/fair-shares.ts'
import type { DueSession, SessionJanitor } from '../../../../ports/session-janitor.ts'
import { readAll, snapshot, transaction, write, type Database } from '../../database.ts'
import { counted } from './session-outline.ts'
import { findLiveSession, headerOf, saveSession, type SessionRow } from './session-rows.ts'

/** Creates the reader of due and expired sessions on SQLite. */
export function createSqliteSessionJanitor({ database }: { database: Database }): SessionJanitor {
  /** Sessions that could not be adopted, by their number. */
  const damaged = new Set<number>()
  return {
    adopt: async (limit) => adopt(database, limit, damaged),
    due: async (now, limit) => fairShares(dueOfTenants(database, now, limit), limit),
    postpone: async (seen, until) => postpone(database, seen, until),
    clearDue: async (key) => clearDue(database, key),
    expired: async (now, limit) => {
      const sql = `SELECT tenant, session FROM sessions
        WHERE live = 1 AND expiresAt IS NOT NULL AND expiresAt <= ? AND due IS NULL ORDER BY expiresAt LIMIT ?`
      return snapshot(database, () => readAll<SessionKey>(database, sql, now, limit)).map(keyOf)
    },
  }
}

const keyOf = ({ tenant, session }: SessionKey): SessionKey => ({ tenant, session })

/** Selects the tenants with due sessions, with one index lookup per tenant. */
const DUE_TENANTS = `WITH RECURSIVE tenants(tenant) AS (
    SELECT min(tenant) FROM sessions WHERE due IS NOT NULL
    UNION ALL
    SELECT (SELECT min(tenant) FROM sessions WHERE due IS NOT NULL AND tenant > tenants.tenant) FROM tenants
      WHERE tenants.tenant IS NOT NULL
  )
  SELECT tenant FROM tenants WHERE tenant IS NOT NULL`

/**
 * Returns the oldest due sessions of each tenant, at most `limit` for one tenant. With several tenants, twice the limit
 * is divided equally among them.
 */
function dueOfTenants(database: Database, now: number, limit: number): DueSession[] {
  const oldest = 'SELECT tenant, session, due FROM sessions WHERE tenant = ? AND due <= ? ORDER BY due LIMIT ?'
  return snapshot(database, () => {
    const tenants = readAll<{ readonly tenant: string }>(database, DUE_TENANTS)
    const share = Math.min(limit, Math.ceil((2 * limit) / Math.max(1, tenants.length)))
    return tenants.flatMap(({ tenant }) =>
      readAll<SessionKey & { readonly due: number }>(database, oldest, tenant, now, share).map((row) => ({
        key: keyOf(row),
        due: row.due,
      })),
    )
  })
}

function adopt(database: Database, limit: number, damaged: Set<number>): boolean {
  const sql = `SELECT * FROM sessions INDEXED BY sessions_uncounted
    WHERE live = 1 AND messageCount IS NULL ORDER BY number LIMIT ?`
  return transaction(database, () => {
    const rows = readAll<SessionRow>(database, sql, limit + damaged.size).filter(({ number }) => !damaged.has(number))
    for (const row of rows) {
      try {
        saveSession(database, row, counted(database, row))
      } catch (error) {
        damaged.add(row.number)
        throw error
      }
    }
    return rows.length >= limit
  })
}

function postpone(database: Database, { key, due }: DueSession, until: number): boolean {
  const sql = 'UPDATE sessions SET due = ? WHERE tenant = ? AND session = ? AND due = ?'
  return transaction(database, () => write(database, sql, until, key.tenant, key.session, due) === 1)
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
