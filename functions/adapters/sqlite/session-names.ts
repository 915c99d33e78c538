import type { JsonObject } from '../../domain/json.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionNames } from '../../ports/session-names.ts'
import { reading, readOne, transaction, write, type Database } from './database.ts'
import { toColumn } from './exact-text.ts'
import { liveSession } from './log/sessions/session-rows.ts'

/** Number of expired names that each new one removes, so that they do not accumulate. */
const FORGOTTEN_AT_ONCE = 10

interface Row {
  readonly session: string
  readonly about: string
}

/** Creates the store of session names on SQLite. `log/session-deletion.ts` removes them with their session. */
export function createSqliteSessionNames({
  database,
  clock,
}: {
  readonly database: Database
  readonly clock: Clock
}): SessionNames {
  return {
    give: async (key, name, about, until) =>
      transaction(database, () => {
        const { number } = liveSession(database, key)
        const sql = 'INSERT OR REPLACE INTO names (tenant, name, session, about, until) VALUES (?, ?, ?, ?, ?)'
        write(database, sql, key.tenant, toColumn(name), number, JSON.stringify(about), until ?? null)
        const old = 'SELECT tenant, name FROM names WHERE until < ? LIMIT ?'
        write(database, `DELETE FROM names WHERE (tenant, name) IN (${old})`, clock.now(), FORGOTTEN_AT_ONCE)
      }),
    find: async (tenant, name) =>
      reading(database, () => {
        const sql = `SELECT s.session, n.about FROM names n JOIN sessions s ON s.number = n.session
          WHERE n.tenant = ? AND n.name = ? AND s.live = 1 AND (n.until IS NULL OR n.until >= ?)`
        const row = readOne<Row>(database, sql, tenant, toColumn(name), clock.now())
        return row && { session: row.session, about: JSON.parse(row.about) as JsonObject }
      }),
  }
}
