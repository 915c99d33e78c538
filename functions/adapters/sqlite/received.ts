import type { Clock } from '../../ports/clock.ts'
import type { Received } from '../../ports/received.ts'
import { readOne, transaction, write, type Database } from './database.ts'
import { toColumn } from './exact-text.ts'

/** Number of old entries that each new one removes, so that they do not accumulate. */
const FORGOTTEN_AT_ONCE = 10

/** Creates the record of received inputs on SQLite. */
export function createSqliteReceived({
  database,
  clock,
}: {
  readonly database: Database
  readonly clock: Clock
}): Received {
  return {
    remember: async (tenant, names, value, until) =>
      transaction(database, () => {
        const now = clock.now()
        for (const name of names) {
          const sql = 'SELECT value FROM received WHERE tenant = ? AND name = ? AND until >= ?'
          const known = readOne<{ readonly value: string }>(database, sql, tenant, toColumn(name), now)
          if (known !== undefined) return known.value
        }
        const sql = 'INSERT OR REPLACE INTO received (tenant, name, value, until) VALUES (?, ?, ?, ?)'
        for (const name of names) write(database, sql, tenant, toColumn(name), value, until)
        const old = 'SELECT tenant, name FROM received WHERE until < ? LIMIT ?'
        write(database, `DELETE FROM received WHERE (tenant, name) IN (${old})`, now, FORGOTTEN_AT_ONCE)
        return value
      }),
    forget: async (tenant, names, value) =>
      transaction(database, () => {
        const sql = 'DELETE FROM received WHERE tenant = ? AND name = ? AND value = ?'
        for (const name of names) write(database, sql, tenant, toColumn(name), value)
      }),
  }
}
