import { COPY_EXPIRY_MS, type SessionKey } from '../../../../../domain/session.ts'
import { numberAt, toItem, type Item } from '../../../attributes.ts'
import type { Change } from '../../../expressions.ts'
import { expiryKey, shardOf } from '../../../keys.ts'
import type { Action } from '../../../table.ts'

const DAY_MS = 86_400_000

/** Returns a time in seconds since 1970, the form of DynamoDB's time to live. */
export const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

/**
 * Returns the action that sets a session's expiry to `ttlDays` days from now; nothing for a session without `ttlDays`.
 * The sweeper finds the expiry item in its index. If the sweeper is late, DynamoDB removes the item at `expires_at`,
 * and the removal triggers the same deletion.
 */
export function putExpiry(key: SessionKey, ttlDays: number | undefined, now: number): Action[] {
  if (ttlDays === undefined) return []
  return [putExpiryAt(key, now + ttlDays * DAY_MS)]
}

/** Returns the action that sets a session's expiry to a time in milliseconds since 1970. */
export function putExpiryAt(key: SessionKey, due: number): Action {
  const fields = { ...expiryKey(key), due_shard: shardOf('expiry', key), due, expires_at: seconds(due) }
  return { put: toItem(fields) }
}

/** Like `putExpiry`, with the days from the session's header. */
export const renewExpiry = (key: SessionKey, header: Item, now: number): Action[] =>
  putExpiry(key, numberAt(header, 'ttl_days'), now)

/**
 * Whether the session awaits the rest of a copy (`NewSession.awaitsCopy`). The header has the generation that the
 * copy's last step has set. Any later run or import raises the generation and so ends this state, also in an earlier
 * version of the program.
 */
export const awaitsCopy = (header: Item): boolean =>
  numberAt(header, 'copy_gen') !== undefined && numberAt(header, 'copy_gen') === numberAt(header, 'gen')

/** Whether the session can expire. If it cannot, its expiry item is outdated. */
export const canExpire = (header: Item): boolean => numberAt(header, 'ttl_days') !== undefined || awaitsCopy(header)

/**
 * Returns the changes that one step of an import makes to a session's expiry. The step also raises `gen`. While a copy
 * continues, each step postpones the expiry. The last step sets the expiry by `ttlDays`, or removes it if the session
 * has no `ttlDays`.
 */
export function expiryAfterStep(
  key: SessionKey,
  header: Item,
  { now, isPartOfCopy = false }: { readonly now: number; readonly isPartOfCopy?: boolean | undefined },
): { readonly change: Change; readonly actions: readonly Action[] } {
  const renewed = renewExpiry(key, header, now)
  if (!awaitsCopy(header)) return { change: {}, actions: renewed }
  if (!isPartOfCopy) return { change: {}, actions: renewed.length > 0 ? renewed : [{ remove: expiryKey(key) }] }
  const set = { copy_gen: (numberAt(header, 'gen') ?? 0) + 1 }
  return { change: { set }, actions: [putExpiryAt(key, now + COPY_EXPIRY_MS)] }
}
