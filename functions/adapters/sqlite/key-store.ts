import type { ApiKey } from '../../domain/keys/api-key.ts'
import type { RequestRate } from '../../domain/keys/request-rate.ts'
import type { CallPlace, KeyStore } from '../../ports/key-store.ts'
import { readAll, readOne, snapshot, transaction, write, type Database } from './database.ts'
import { toColumn } from './exact-text.ts'

interface KeyRow {
  readonly id: string
  readonly tenant: string
  readonly createdAt: number
  readonly revokedAt: number | null
  readonly body: string
}

const SELECT_KEYS = 'SELECT id, tenant, createdAt, revokedAt, body FROM api_keys'

/** API keys, on SQLite. */
export function createSqliteKeyStore({ database }: { database: Database }): KeyStore {
  return {
    create: async (hash, key) => create(database, hash, key),
    find: async (hash) => {
      const sql = `${SELECT_KEYS} WHERE hash = ? AND revokedAt IS NULL`
      const row = snapshot(database, () => readOne<KeyRow>(database, sql, hash))
      return row && keyOf(row)
    },
    list: async (tenant) => {
      const sql = `${SELECT_KEYS} WHERE ?1 IS NULL OR tenant = ?1 ORDER BY createdAt, id`
      return snapshot(database, () => readAll<KeyRow>(database, sql, tenant ?? null)).map(keyOf)
    },
    revoke: async (id, now) => {
      const sql = 'UPDATE api_keys SET revokedAt = coalesce(revokedAt, ?) WHERE id = ?'
      return transaction(database, () => write(database, sql, now, id)) > 0
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

function take(database: Database, id: string, { interval, early }: RequestRate, milliseconds: number): number {
  const now = milliseconds * 1_000
  const sql = `INSERT INTO request_rates (key, due) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET due = max(due, ?) + ? WHERE due <= ?`
  if (write(database, sql, toColumn(id), now + interval, now, interval, now + early) > 0) return 0
  const row = readOne<{ due: number }>(database, 'SELECT due FROM request_rates WHERE key = ?', toColumn(id))
  return ((row?.due ?? now) - early - now) / 1_000
}

function enter(database: Database, id: string, { call, most, until }: CallPlace, now: number): boolean {
  const key = toColumn(id)
  write(database, 'DELETE FROM open_calls WHERE key = ? AND until <= ?', key, now)
  const sql = `INSERT INTO open_calls (key, call, until)
    SELECT ?1, ?2, ?3 WHERE (SELECT count(*) FROM open_calls WHERE key = ?1) < ?4
      OR EXISTS (SELECT 1 FROM open_calls WHERE key = ?1 AND call = ?2)
    ON CONFLICT (key, call) DO UPDATE SET until = excluded.until`
  return write(database, sql, key, toColumn(call), until, most) > 0
}

function create(database: Database, hash: string, key: ApiKey): void {
  const { id, tenant, createdAt, revokedAt, ...rest } = key
  const sql = 'INSERT INTO api_keys (hash, id, tenant, createdAt, revokedAt, body) VALUES (?, ?, ?, ?, ?, ?)'
  const body = JSON.stringify(rest)
  transaction(database, () => write(database, sql, hash, id, tenant, createdAt, revokedAt ?? null, body))
}

function keyOf({ id, tenant, createdAt, revokedAt, body }: KeyRow): ApiKey {
  const rest = JSON.parse(body) as Omit<ApiKey, 'id' | 'tenant' | 'createdAt' | 'revokedAt'>
  return { id, tenant, createdAt, ...(revokedAt === null ? {} : { revokedAt }), ...rest }
}
