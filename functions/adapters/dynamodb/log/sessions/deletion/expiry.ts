import type { SessionKey } from '../../../../../domain/session.ts'
import { numberAt, toItem, type Item } from '../../../attributes.ts'
import { expiryKey, shardOf } from '../../../keys.ts'
import type { Action } from '../../../table.ts'

const DAY_MS = 86_400_000

/** Seconds since 1970, as DynamoDB's time to live has it. */
export const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

/**
 * The session expires its days from now; nothing for one that never does. The sweeper finds the item by its index. If it does
 * not get to it, DynamoDB removes the item at `expires_at`, and the removal leads to the same deletion.
 */
export function putExpiry(key: SessionKey, ttlDays: number | undefined, now: number): Action[] {
  if (ttlDays === undefined) return []
  const due = now + ttlDays * DAY_MS
  const fields = { ...expiryKey(key), due_shard: shardOf('expiry', key), due, expires_at: seconds(due) }
  return [{ put: toItem(fields) }]
}

/** The same for the session of this header. */
export const renewExpiry = (key: SessionKey, header: Item, now: number): Action[] =>
  putExpiry(key, numberAt(header, 'ttl_days'), now)
