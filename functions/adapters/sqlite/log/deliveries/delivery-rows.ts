import { randomUUID } from 'node:crypto'
import type { Delivery } from '../../../../domain/delivery.ts'
import { write, type Database } from '../../database.ts'

export interface DeliveryRow {
  readonly id: string
  readonly tenant: string
  readonly session: string
  readonly kind: string
  readonly status: Delivery['status']
  readonly due: number | null
  readonly mark: string
  readonly body: string
}

const COLUMNS = 'd.id, d.tenant, s.session, d.kind, d.status, d.due, d.mark, d.body'

/** Selects deliveries as `DeliveryRow`. */
export const SELECT_DELIVERIES = `SELECT ${COLUMNS} FROM deliveries d JOIN sessions s ON s.number = d.session`

/**
 * Selects the pending deliveries of a session after an id, oldest first. The index is forced, because the planner would
 * also read ended deliveries.
 */
export const PENDING_DELIVERIES = `SELECT ${COLUMNS}
  FROM sessions s JOIN deliveries d INDEXED BY deliveries_pending ON d.session = s.number
  WHERE s.tenant = ? AND s.session = ? AND d.status = 'pending' AND d.id > ? ORDER BY d.id LIMIT ?`

/** Returns the delivery of a row. */
export function deliveryOf({ body, due, ...columns }: DeliveryRow): Delivery {
  // The cast is safe: `bodyOf` wrote the text from a delivery.
  const rest = JSON.parse(body) as Pick<Delivery, 'target' | 'state' | 'failures' | 'createdAt'>
  return { ...columns, ...rest, ...(due === null ? {} : { due }) }
}

/** Adds a delivery. Returns false if its id exists. */
export function insertDelivery(database: Database, session: number, delivery: Omit<Delivery, 'mark'>): boolean {
  const { id, tenant, kind, status, due = null } = delivery
  const sql = `INSERT INTO deliveries (session, id, tenant, kind, status, due, mark, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (session, id) DO NOTHING`
  return write(database, sql, session, id, tenant, kind, status, due, randomUUID(), bodyOf(delivery)) === 1
}

/** Encodes the fields that no query uses. */
export function bodyOf({ target, state, owner, hinted, failures, begun, createdAt }: Omit<Delivery, 'mark'>): string {
  return JSON.stringify({ target, state, owner, hinted, failures, begun, createdAt })
}
