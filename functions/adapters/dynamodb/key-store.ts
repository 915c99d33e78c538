import { createHash } from 'node:crypto'
import type { ApiKey } from '../../domain/keys/api-key.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { RequestRate } from '../../domain/keys/request-rate.ts'
import type { KeyStore } from '../../ports/key-store.ts'
import { numberAt, requiredText, textAt, toItem, type Item } from './attributes.ts'
import { above, absent, all, any, atMost, is, present, startsWith } from './expressions.ts'
import { enter, leave } from './open-calls.ts'
import { createTable, type Table, type TableDependencies } from './table.ts'

/** Keys are found by the hash of their secret, and listed by tenant in a partition of their own. */
const LIST = 'KEYS'
const keyOf = (hash: string) => ({ pk: `K#${hash}`, sk: '#KEY' })
/** Ids may hold any character. */
const hashOf = (id: string): string => createHash('sha256').update(JSON.stringify(id)).digest('hex')
const placeOf = (id: string, tenant: string) => ({
  pk: LIST,
  sk: `${tenant}#${hashOf(id)}`,
})

/** API keys, on DynamoDB. */
export function createDynamoKeyStore(dependencies: TableDependencies): KeyStore {
  const table = createTable(dependencies)
  return {
    create: (hash, key) => create(table, hash, key),
    find: async (hash) => {
      const item = await table.read(keyOf(hash))
      return item === undefined || numberAt(item, 'revoked_at') !== undefined ? undefined : apiKeyOf(item)
    },
    list: async (tenant) => {
      const keys = (await listed(table, tenant)).map(apiKeyOf)
      return keys.toSorted((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1))
    },
    revoke: (id, now) => revoke(table, id, now),
    take: (id, rate, now) => take(table, id, rate, now),
    enter: (id, place, now) => enter(table, hashOf(id), place, now),
    leave: (id, call) => leave(table, hashOf(id), call),
    any: async () => {
      for await (const _ of table.query({ keys: is('pk', LIST), pageSize: 1 })) return true
      return false
    },
  }
}

async function create(table: Table, hash: string, { revokedAt, ...key }: ApiKey): Promise<void> {
  const fields = { body: JSON.stringify(key), hash, revoked_at: revokedAt }
  const refusal = await table.write([
    { put: toItem({ ...keyOf(hash), ...fields }), when: absent('pk') },
    { put: toItem({ ...placeOf(key.id, key.tenant), ...fields }), when: absent('pk') },
  ])
  if (refusal !== undefined) throw new TooltrailError('storage_failed', `there is a key ${key.id}, or one of its hash`)
}

async function listed(table: Table, tenant: string | undefined): Promise<Item[]> {
  const items: Item[] = []
  const keys = is('pk', LIST)
  const range = tenant === undefined ? keys : all(keys, startsWith('sk', `${tenant}#`))
  for await (const item of table.query({ keys: range })) items.push(item)
  return items
}

async function revoke(table: Table, id: string, now: number): Promise<boolean> {
  const item = (await listed(table, undefined)).find((found) => apiKeyOf(found).id === id)
  if (item === undefined) return false
  const place = { pk: requiredText(item, 'pk'), sk: requiredText(item, 'sk') }
  const change = { setIfAbsent: { revoked_at: now } }
  const refusal = await table.write(
    [keyOf(requiredText(item, 'hash')), place].map((update) => ({ update, when: present('pk'), change })),
  )
  return refusal === undefined
}

/**
 * One more item per key. It starts again when its time has passed, and is moved on otherwise. A request whose response was lost
 * may count twice: the caller then waits longer, but never gets in too early.
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
