import { sha256 } from '../../domain/hash.ts'
import { changeCaps, type ApiKey, type CapChange } from '../../domain/keys/api-key.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { RequestRate } from '../../domain/keys/request-rate.ts'
import type { KeyStore } from '../../ports/key-store.ts'
import { numberAt, requiredText, textAt, toItem, type Item } from './attributes.ts'
import { above, absent, all, any, atMost, below, is, present, startsWith } from './expressions.ts'
import { enter, leave } from './open-requests.ts'
import { createTable, type Table, type TableDependencies } from './table.ts'

/** API keys are found by the hash of their secret. A separate partition lists them by tenant. */
const LIST = 'KEYS'
const keyOf = (hash: string) => ({ pk: `K#${hash}`, sk: '#KEY' })
/** Returns the hash of an id. The id itself may contain any character. */
const hashOf = (id: string): string => sha256(JSON.stringify(id))
const placeOf = (id: string, tenant: string) => ({
  pk: LIST,
  sk: `${tenant}#${hashOf(id)}`,
})

/**
 * Returns the key of the item with an API key's last use. The item is separate, because functions have permission
 * to write it, but not to write the items of API keys.
 */
const useOf = (id: string) => ({ pk: `R#${hashOf(id)}`, sk: '#USED' })

/** Maximum attempts to change a key. An attempt fails if another process changes the key at the same time. */
const MAX_ATTEMPTS = 8

/** Creates the store of API keys on DynamoDB. */
export function createDynamoKeyStore(dependencies: TableDependencies): KeyStore {
  const table = createTable(dependencies)
  return {
    create: (hash, key) => create(table, hash, key),
    find: async (hash) => {
      const item = await table.read(keyOf(hash))
      return item === undefined || numberAt(item, 'revoked_at') !== undefined ? undefined : apiKeyOf(item)
    },
    list: async (tenant) => {
      const keys = await withLastUse(table, (await listed(table, tenant)).map(apiKeyOf))
      return keys.toSorted((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1))
    },
    revoke: (id, now) => revoke(table, id, now),
    cap: (id, change) => cap(table, id, change),
    used: async (id, now) => {
      await table.update(useOf(id), any(absent('used_at'), below('used_at', now)), { set: { used_at: now } })
    },
    take: (id, rate, now) => take(table, id, rate, now),
    enter: (id, place, now) => enter(table, hashOf(id), place, now),
    leave: (id, call) => leave(table, hashOf(id), call),
    any: async () => {
      for await (const _ of table.query({ keys: is('pk', LIST), pageSize: 1 })) return true
      return false
    },
  }
}

async function create(table: Table, hash: string, { revokedAt, lastUsedAt: _, ...key }: ApiKey): Promise<void> {
  const fields = { body: JSON.stringify(key), hash, revoked_at: revokedAt }
  const refusal = await table.write([
    { put: toItem({ ...keyOf(hash), ...fields }), when: absent('pk') },
    { put: toItem({ ...placeOf(key.id, key.tenant), ...fields }), when: absent('pk') },
  ])
  if (refusal !== undefined)
    throw new TooltrailError('storage_failed', `a key with the id ${key.id} or the same hash exists`)
}

async function listed(table: Table, tenant: string | undefined): Promise<Item[]> {
  const items: Item[] = []
  const keys = is('pk', LIST)
  const range = tenant === undefined ? keys : all(keys, startsWith('sk', `${tenant}#`))
  for await (const item of table.query({ keys: range })) items.push(item)
  return items
}

async function revoke(table: Table, id: string, now: number): Promise<boolean> {
  const item = await listedKey(table, id)
  if (item === undefined) return false
  const change = { setIfAbsent: { revoked_at: now } }
  const refusal = await table.write(itemsOf(item).map((update) => ({ update, when: present('pk'), change })))
  return refusal === undefined
}

/**
 * Changes the caps of a key. Writes only if the body is still the one that was read, so that no concurrent change is
 * lost.
 */
async function cap(table: Table, id: string, change: CapChange): Promise<ApiKey | undefined> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const item = await listedKey(table, id)
    if (item === undefined || numberAt(item, 'revoked_at') !== undefined) return undefined
    const key = apiKeyOf(item)
    const changed = { ...key, caps: changeCaps(key.caps, change) }
    const when = all(is('body', requiredText(item, 'body')), absent('revoked_at'))
    const set = { body: JSON.stringify(changed) }
    if ((await table.write(itemsOf(item).map((update) => ({ update, when, change: { set } })))) === undefined)
      return changed
  }
  throw new TooltrailError('storage_failed', `the key ${id} is being changed by others: repeat the command`)
}

async function listedKey(table: Table, id: string): Promise<Item | undefined> {
  return (await listed(table, undefined)).find((found) => apiKeyOf(found).id === id)
}

/** Returns the item keys of the two items that store an API key. */
const itemsOf = (item: Item) => [
  keyOf(requiredText(item, 'hash')),
  { pk: requiredText(item, 'pk'), sk: requiredText(item, 'sk') },
]

async function withLastUse(table: Table, keys: readonly ApiKey[]): Promise<ApiKey[]> {
  const uses = await table.readMany(keys.map(({ id }) => useOf(id)))
  return keys.map((key, index) => ({
    ...key,
    ...definedFields({ lastUsedAt: numberAt(uses[index] ?? {}, 'used_at') }),
  }))
}

/**
 * Counts a request against an API key's rate. Returns 0 if the request is allowed, otherwise the wait in milliseconds.
 * Each API key has one item with a time. Every allowed request moves this time forward by one interval, or sets it to
 * one interval from now if it is in the past. If a response is lost, the request may count twice. The caller then waits
 * longer than necessary, but is never admitted too early.
 */
async function take(table: Table, id: string, { interval, early }: RequestRate, milliseconds: number): Promise<number> {
  const now = milliseconds * 1_000
  const item = { pk: `R#${hashOf(id)}`, sk: '#RATE' }
  const begun = await table.update(item, any(absent('due_at'), atMost('due_at', now)), {
    set: { due_at: now + interval },
  })
  if (begun.done) return 0
  const moved = await table.update(item, all(above('due_at', now), atMost('due_at', now + early)), {
    add: { due_at: interval },
  })
  return moved.done ? 0 : Math.max(1, (numberAt(moved.item ?? {}, 'due_at') ?? now) - early - now) / 1_000
}

function apiKeyOf(item: Item): ApiKey {
  const key = JSON.parse(textAt(item, 'body') ?? '') as Omit<ApiKey, 'revokedAt'>
  return { ...key, ...definedFields({ revokedAt: numberAt(item, 'revoked_at') }) }
}
