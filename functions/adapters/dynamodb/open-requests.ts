import type { RequestSlot } from '../../ports/key-store.ts'
import { numberAt, type Item } from './attributes.ts'
import { absent, all, any, below, present } from './expressions.ts'
import type { ItemKey } from './keys.ts'
import type { Table } from './table.ts'

/** Prefix of an open request's attribute. The attribute has the time at which the request's slot expires. */
const CALL = 'c_'
/** Maximum number of slots that one cleanup removes. An expression has at most 4 KB. */
const CLEANED = 50

/**
 * Returns the key of the item with the open requests of an API key. The item has the number of these requests, and the
 * time at which each slot expires.
 */
const placesOf = (keyHash: string): ItemKey => ({ pk: `C#${keyHash}`, sk: '#CALLS' })

/** See `KeyStore`. `keyHash`: hash of the key's id. */
export async function enter(
  table: Table,
  keyHash: string,
  { call, most, until }: RequestSlot,
  now: number,
): Promise<boolean> {
  const name = CALL + call
  // DynamoDB removes the item a day after its last slot has expired.
  const set = { [name]: until, expires_at: Math.ceil(until / 1_000) + 86_400 }
  for (;;) {
    const hasCapacity = any(absent('open'), below('open', most))
    const entered = await table.update(placesOf(keyHash), all(absent(name), hasCapacity), { set, add: { open: 1 } })
    if (entered.done) return true
    // The request has a slot already. This write renews the slot, or repeats a write whose response was lost.
    if (entered.item?.[name] !== undefined) {
      if ((await table.update(placesOf(keyHash), present(name), { set })).done) return true
    } else if (!(await clean(table, keyHash, entered.item ?? {}, now))) return false
  }
}

/** See `KeyStore`. */
export async function leave(table: Table, keyHash: string, call: string): Promise<void> {
  await remove(table, keyHash, [CALL + call])
}

/**
 * Removes slots that have expired, unless another process has removed them first. Returns false if the item has no
 * expired slots.
 */
async function clean(table: Table, keyHash: string, item: Item, now: number): Promise<boolean> {
  const over = Object.keys(item).filter((name) => name.startsWith(CALL) && (numberAt(item, name) ?? 0) <= now)
  if (over.length > 0) await remove(table, keyHash, over.slice(0, CLEANED))
  return over.length > 0
}

async function remove(table: Table, keyHash: string, names: readonly string[]): Promise<void> {
  const change = { remove: names, add: { open: -names.length } }
  await table.update(placesOf(keyHash), all(...names.map(present)), change)
}
