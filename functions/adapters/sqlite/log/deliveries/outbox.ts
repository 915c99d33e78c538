import { randomUUID } from 'node:crypto'
import { definedFields } from '../../../../domain/defined-fields.ts'
import { changedDelivery, newDelivery, type Delivery, type DeliveryKey } from '../../../../domain/delivery.ts'
import { fairShares } from '../../../../domain/fair-shares.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { DeliveryChange, DeliveryFilter, Outbox } from '../../../../ports/outbox.ts'
import { readAll, readOne, snapshot, transaction, write, type Database } from '../../database.ts'
import {
  bodyOf,
  deliveryOf,
  insertDelivery,
  PENDING_DELIVERIES,
  SELECT_DELIVERIES,
  type DeliveryRow,
} from './delivery-rows.ts'
import { toColumn } from '../../exact-text.ts'
import { findLiveSession } from '../sessions/session-rows.ts'

const ONE_OF_TENANT = `${SELECT_DELIVERIES} WHERE d.tenant = ? AND d.kind = ? AND d.id = ?`

/** Creates the outbox on SQLite. */
export function createSqliteOutbox({
  database,
  clock,
}: {
  readonly database: Database
  readonly clock: Clock
}): Outbox {
  const all = (sql: string, ...values: (string | number)[]): Delivery[] =>
    snapshot(database, () => readAll<DeliveryRow>(database, sql, ...values)).map(deliveryOf)
  return {
    add: async (key, delivery, state) =>
      transaction(database, () => {
        const row = findLiveSession(database, key)
        if (row === undefined) return false
        return insertDelivery(database, row.number, {
          ...newDelivery(key, delivery, clock.now()),
          state,
          due: clock.now(),
        })
      }),
    read: async (key) => snapshot(database, () => readDelivery(database, key)),
    pending: async ({ tenant, session }, limit, after = '') => all(PENDING_DELIVERIES, tenant, session, after, limit),
    change: async (seen, change) => changeDelivery(database, seen, change),
    due: async (now, limit) => fairShares(dueOfTenants(database, now, limit), limit),
    list: async (filter) => {
      const deliveries = all(...pageOf(filter))
      const page = deliveries.slice(0, filter.limit)
      const last = deliveries.length > filter.limit ? page.at(-1)?.id : undefined
      return { deliveries: page, ...definedFields({ next: last }) }
    },
    find: async (tenant, kind, id) => all(ONE_OF_TENANT, tenant, kind, id)[0],
  }
}

function readDelivery(database: Database, { tenant, session, id }: DeliveryKey): Delivery | undefined {
  const sql = `${SELECT_DELIVERIES} WHERE s.tenant = ? AND s.session = ? AND d.id = ?`
  const row = readOne<DeliveryRow>(database, sql, tenant, session, id)
  return row && deliveryOf(row)
}

function changeDelivery(database: Database, seen: Delivery, change: DeliveryChange): Delivery | undefined {
  const now = { ...changedDelivery(seen, change), mark: randomUUID() }
  const sql = `UPDATE deliveries SET status = ?, due = ?, mark = ?, body = ?
    WHERE session = (SELECT number FROM sessions WHERE tenant = ? AND session = ?) AND id = ? AND mark = ?`
  const values = [now.status, now.due ?? null, now.mark, bodyOf(now), seen.tenant, seen.session, seen.id, seen.mark]
  return transaction(database, () => write(database, sql, ...values)) === 1 ? now : undefined
}

/** Selects the tenants with due deliveries, with one index lookup per tenant. */
const DUE_TENANTS = `WITH RECURSIVE tenants(tenant) AS (
    SELECT min(tenant) FROM deliveries WHERE due IS NOT NULL
    UNION ALL
    SELECT (SELECT min(tenant) FROM deliveries WHERE due IS NOT NULL AND tenant > tenants.tenant) FROM tenants
      WHERE tenants.tenant IS NOT NULL
  )
  SELECT tenant FROM tenants WHERE tenant IS NOT NULL`

function dueOfTenants(database: Database, now: number, limit: number): { key: DeliveryKey; due: number }[] {
  const oldest = `SELECT d.id, d.tenant, s.session, d.due FROM deliveries d JOIN sessions s ON s.number = d.session
    WHERE d.tenant = ? AND d.due <= ? ORDER BY d.due LIMIT ?`
  return snapshot(database, () => {
    const tenants = readAll<{ readonly tenant: string }>(database, DUE_TENANTS)
    const share = Math.min(limit, Math.ceil((2 * limit) / Math.max(1, tenants.length)))
    return tenants.flatMap(({ tenant: of }) =>
      readAll<DeliveryKey & { readonly due: number }>(database, oldest, of, now, share).map(
        ({ id, tenant, session, due }) => ({ key: { tenant, session, id }, due }),
      ),
    )
  })
}

/** Builds a page. One extra row shows whether another page follows. */
function pageOf({
  tenant,
  kind,
  session,
  owner,
  status,
  limit,
  after,
}: DeliveryFilter): [string, ...(string | number)[]] {
  const conditions: [string, string | undefined][] = [
    ['d.tenant = ?', tenant],
    ['d.kind = ?', kind],
    ['s.session = ?', session],
    ['s.live = 1 AND s.owner = ?', owner === undefined ? undefined : toColumn(owner)],
    ['d.status = ?', status],
    ['d.id < ?', after],
  ]
  const set = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
  const where = set.map(({ sql }) => sql).join(' AND ')
  return [`${SELECT_DELIVERIES} WHERE ${where} ORDER BY d.id DESC LIMIT ?`, ...set.map(({ value }) => value), limit + 1]
}
