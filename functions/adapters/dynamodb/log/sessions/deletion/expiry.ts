import type { SessionKey } from '../../../../../domain/session.ts'
import { numberAt, toItem, type Item } from '../../../attributes.ts'
import { expiryKey, shardOf } from '../../../keys.ts'
import type { Action } from '../../../table.ts'

const DAY_MS = 86_400_000

/** Returns a time in seconds since 1970, the form of DynamoDB's time to live. */
export const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

/**
 * Returns the action that sets a session's expiry, in `ttlDays` days; nothing for a session without one. The sweeper
 * finds the item in its index. If the sweeper is late, DynamoDB removes the item at `expires_at`, and the removal
 * triggers the same deletion.
 */
export function putExpiry(key: SessionKey, ttlDays: number | undefined, now: number): Action[] {
  if (ttlDays === undefined) return []
  const due = now + ttlDays * DAY_MS
  const fields = { ...expiryKey(key), due_shard: shardOf('expiry', key), due, expires_at: seconds(due) }
  return [{ put: toItem(fields) }]
}

/** Like `putExpiry`, with the days from the session's header. */
export const renewExpiry = (key: SessionKey, header: Item, now: number): Action[] =>
  putExpiry(key, numberAt(header, 'ttl_days'), now)
