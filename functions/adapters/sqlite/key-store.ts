import { changeCaps, type ApiKey, type CapChange } from '../../domain/keys/api-key.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { RequestRate } from '../../domain/keys/request-rate.ts'
import type { RequestSlot, KeyStore } from '../../ports/key-store.ts'
import { readAll, readOne, snapshot, transaction, write, type Database } from './database.ts'
import { toColumn } from './exact-text.ts'

interface KeyRow {
  readonly id: string
  readonly tenant: string
  readonly createdAt: number
  readonly revokedAt: number | null
  readonly usedAt: number | null
  readonly body: string
}

const SELECT_KEYS = 'SELECT id, tenant, createdAt, revokedAt, NULL AS usedAt, body FROM api_keys'
const SELECT_USED_KEYS =
  'SELECT id, tenant, createdAt, revokedAt, usedAt, body FROM api_keys LEFT JOIN key_uses ON key_uses.key = api_keys.id'

/** Creates the store of API keys on SQLite. */
export function createSqliteKeyStore({ database }: { database: Database }): KeyStore {
  return {
    create: async (hash, key) => create(database, hash, key),
    find: async (hash) => {
      const sql = `${SELECT_KEYS} WHERE hash = ? AND revokedAt IS NULL`
      const row = snapshot(database, () => readOne<KeyRow>(database, sql, hash))
      return row && keyOf(row)
    },
    list: async (tenant) => {
      const sql = `${SELECT_USED_KEYS} WHERE ?1 IS NULL OR tenant = ?1 ORDER BY createdAt, id`
      return snapshot(database, () => readAll<KeyRow>(database, sql, tenant ?? null)).map(keyOf)
    },
    revoke: async (id, now) => {
      const sql = 'UPDATE api_keys SET revokedAt = coalesce(revokedAt, ?) WHERE id = ?'
      return transaction(database, () => write(database, sql, now, id)) > 0
    },
    cap: async (id, change) => transaction(database, () => cap(database, id, change)),
    used: async (id, now) => {
      const sql = `INSERT INTO key_uses (key, usedAt) VALUES (?, ?)
        ON CONFLICT (key) DO UPDATE SET usedAt = excluded.usedAt WHERE usedAt < excluded.usedAt`
      transaction(database, () => write(database, sql, id, now))
    },
    take: async (id, rate, now) => transaction(database, () => take(database, id, rate, now)),
    enter: async (id, place, now) => transaction(database, () => enter(database, id, place, now)),
    leave: async (id, call) => {
      const sql = 'DELETE FROM open_calls WHERE key = ? AND call = ?'
      transaction(database, () => write(database, sql, toColumn(id), toColumn(call)))
    },
    any: async () => snapshot(database, () => readOne(database, 'SELECT 1 FROM api_keys LIMIT 1')) !== undefined,
  }
}

function cap(database: Database, id: string, change: CapChange): ApiKey | undefined {
  const row = readOne<KeyRow>(database, `${SELECT_KEYS} WHERE id = ? AND revokedAt IS NULL`, id)
  if (row === undefined) return undefined
  const key = keyOf(row)
  const changed = { ...key, caps: changeCaps(key.caps, change) }
  write(database, 'UPDATE api_keys SET body = ? WHERE id = ?', bodyOf(changed), id)
  return changed
}

function take(database: Database, id: string, { interval, early }: RequestRate, milliseconds: number): number {
  const now = milliseconds * 1_000
  const sql = `INSERT INTO request_rates (key, due) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET due = max(due, ?) + ? WHERE due <= ?`
  if (write(database, sql, toColumn(id), now + interval, now, interval, now + early) > 0) return 0
  const row = readOne<{ due: number }>(database, 'SELECT due FROM request_rates WHERE key = ?', toColumn(id))
  return ((row?.due ?? now) - early - now) / 1_000
}

function enter(database: Database, id: string, { call, most, until }: RequestSlot, now: number): boolean {
  const key = toColumn(id)
  write(database, 'DELETE FROM open_calls WHERE key = ? AND until <= ?', key, now)
  const sql = `INSERT INTO open_calls (key, call, until)
    SELECT ?1, ?2, ?3 WHERE (SELECT count(*) FROM open_calls WHERE key = ?1) < ?4
      OR EXISTS (SELECT 1 FROM open_calls WHERE key = ?1 AND call = ?2)
    ON CONFLICT (key, call) DO UPDATE SET until = excluded.until`
  return write(database, sql, key, toColumn(call), until, most) > 0
}

function create(database: Database, hash: string, key: ApiKey): void {
  const { id, tenant, createdAt, revokedAt } = key
  const sql = 'INSERT INTO api_keys (hash, id, tenant, createdAt, revokedAt, body) VALUES (?, ?, ?, ?, ?, ?)'
  transaction(database, () => write(database, sql, hash, id, tenant, createdAt, revokedAt ?? null, bodyOf(key)))
}

type Body = Omit<ApiKey, 'id' | 'tenant' | 'createdAt' | 'revokedAt' | 'lastUsedAt'>

const bodyOf = ({ id: _, tenant: __, createdAt: ___, revokedAt: ____, lastUsedAt: _____, ...body }: ApiKey): string =>
  JSON.stringify(body satisfies Body)

function keyOf({ id, tenant, createdAt, revokedAt, usedAt, body }: KeyRow): ApiKey {
  const times = definedFields({ revokedAt: revokedAt ?? undefined, lastUsedAt: usedAt ?? undefined })
  return { id, tenant, createdAt, ...times, ...(JSON.parse(body) as Body) }
}
