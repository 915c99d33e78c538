import { LEASE_MS, type SessionKey } from '../../../../../domain/session.ts'
import type { DeletionState, SessionDeletion } from '../../../../../ports/session-deletion.ts'
import { flagAt, numberAt, requiredText, textAt, type Item } from '../../../attributes.ts'
import { absent, all, any, below, is, present } from '../../../expressions.ts'
import { awaitsCopy, canExpire, seconds } from './expiry.ts'
import { isLive, live } from '../header-item.ts'
import { expiryKey, HEADER, headerKey, NAME_PREFIX, nameKey, partitionOf, hashOf, RUN_PREFIX } from '../../../keys.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from '../session-rows.ts'
import type { Action } from '../../../table.ts'
import { LIST_FIELDS } from '../lists/list-entries.ts'
import { someCounters } from '../../usage/usage-folding.ts'
import { BYTES_AT_ONCE, bytesOf } from '../../write-limits.ts'

const TOMBSTONE_MS = 30 * 86_400_000
/** Rows per atomic write of 100 items; the remaining item is the tombstone with its counts. */
const ROWS_AT_ONCE = 99
const ATTEMPTS = 64

/**
 * Creates the stepwise deletion of sessions on DynamoDB. For each removed row, the table's stream has a record. This
 * record causes the removal of the row's documents from the history index.
 */
export function createDeletionWrites(dependencies: DynamoDependencies): SessionDeletion {
  const rows = createSessionRows(dependencies)
  const { table, clock } = rows
  return {
    tombstone: (key, options) => tombstone(rows, key, options?.ifExpired ?? false),
    removeRows: (key, limit) => removeRows(rows, key, limit),
    markRemoved: async (key, outputs) => {
      const change = { set: { removed: true, due: clock.now() + LEASE_MS }, add: { gone_outputs: outputs } }
      // An atomic write has a token, so a retry is recognized and the outputs are counted only once.
      await table.write([{ update: headerKey(key), when: is('status', 'deleted'), change }])
    },
    finish: async (key) => {
      await table.update(headerKey(key), is('status', 'deleted'), { remove: ['due'] })
    },
    state: async (key, owner) => stateOf(await table.read(headerKey(key)), owner, clock.now()),
  }
}

async function tombstone(rows: SessionRows, key: SessionKey, ifExpired: boolean): Promise<boolean> {
  const { table, clock } = rows
  const now = clock.now()
  const header = await table.read(headerKey(key))
  if (!isLive(header) || (ifExpired && !canExpire(header))) return false
  const gen = (numberAt(header, 'gen') ?? 0) + 1
  const forget = now + TOMBSTONE_MS
  const [waiting, queued] = [0, 0]
  const counts = { gone_messages: 0, gone_runs: 0, gone_documents: 0, gone_outputs: 0, removed: false }
  const set = {
    status: 'deleted',
    gen,
    due: now,
    forget_at: forget,
    expires_at: seconds(forget),
    paused: false,
    waiting,
    queued,
    ...counts,
  }
  const unchangedCopy = awaitsCopy(header) ? [is('gen', gen - 1)] : []
  const refusal = await table.write([
    {
      update: headerKey(key),
      when: all(live, below('gen', gen), ...(ifExpired ? [absent('due'), ...unchangedCopy] : [])),
      change: { set, remove: [...FORGOTTEN, ...someCounters(header)] },
    },
    ...(ifExpired ? [{ check: expiryKey(key), when: any(absent('pk'), below('due', now + 1)) }] : []),
  ])
  if (refusal === undefined) return true
  // A holder has raised the generation since the read, so the deletion is tried again.
  return refusal[0]?.item !== undefined && isLive(refusal[0].item) && !ifExpired ? tombstone(rows, key, false) : false
}

const FORGOTTEN = [
  ...['lease_owner', 'lease_until', 'active_run', 'cancel_run', 'cancel_reason', 'ttl_days', 'copy_gen', 'opened'],
  ...['messages', 'first_at', 'last_at', 'imported_at', ...LIST_FIELDS],
]

/**
 * Removes rows and adds their counts to the tombstone in the same write. So no row is counted twice if other processes
 * remove rows too.
 */
async function removeRows(rows: SessionRows, key: SessionKey, limit: number): Promise<{ more: boolean }> {
  const { table } = rows
  const header = await table.read(headerKey(key))
  if (header === undefined || isLive(header)) return { more: false }
  let left = limit
  for (let attempt = 1; attempt <= ATTEMPTS && left > 0;) {
    const batch = await someRows(rows, key, Math.min(left, ROWS_AT_ONCE))
    if (batch.length === 0) return { more: false }
    const refusal = await table.write([
      { update: headerKey(key), when: is('status', 'deleted'), change: { add: countsOf(batch) } },
      ...batch.map((item): Action => {
        const { pk, sk } = { pk: requiredText(item, 'pk'), sk: requiredText(item, 'sk') }
        return { remove: { pk, sk }, when: present('pk') }
      }),
      ...(await namesOf(rows, key, batch)),
    ])
    if (refusal === undefined) left -= batch.length
    else attempt++
  }
  return { more: (await someRows(rows, key, 1)).length > 0 }
}

/**
 * Returns the actions that remove the items of the names that these rows list. A name that now belongs to another
 * session is kept.
 */
async function namesOf(
  { table }: SessionRows,
  { tenant, session }: SessionKey,
  batch: readonly Item[],
): Promise<Action[]> {
  const keys = batch.flatMap((item) => {
    const sk = requiredText(item, 'sk')
    return sk.startsWith(NAME_PREFIX) ? [nameKey(tenant, sk.slice(NAME_PREFIX.length))] : []
  })
  const named = await table.readMany(keys)
  const own = keys.filter((_, place) => named[place] && textAt(named[place], 'session') === session)
  return own.map((remove) => ({ remove, when: is('session', session) }))
}

/**
 * Reads rows other than the tombstone, at least one if there are any. The batch has at most `count` items and fits one
 * atomic write. A row that lists a name counts as two items, because the name's own item is removed too.
 */
async function someRows({ table }: SessionRows, key: SessionKey, count: number): Promise<Item[]> {
  const found: Item[] = []
  let bytes = 0
  let places = 0
  const keys = is('pk', partitionOf(key))
  for await (const item of table.query({ keys, descending: true, pageSize: count + 1 })) {
    if (textAt(item, 'sk') === HEADER) continue
    bytes += bytesOf(item)
    places += requiredText(item, 'sk').startsWith(NAME_PREFIX) ? 2 : 1
    if (found.length > 0 && (bytes > BYTES_AT_ONCE || places > count)) break
    found.push(item)
    if (places >= count) break
  }
  return found
}

function countsOf(items: readonly Item[]): Record<string, number> {
  const messages = items.filter((item) => textAt(item, 'role') !== undefined)
  return {
    gone_messages: messages.length,
    gone_runs: items.filter((item) => requiredText(item, 'sk').startsWith(RUN_PREFIX)).length,
    gone_documents: messages.reduce((sum, item) => sum + (numberAt(item, 'documents') ?? 0), 0),
  }
}

function stateOf(header: Item | undefined, owner: string | undefined, now: number): DeletionState | undefined {
  if (header === undefined || isLive(header) || (numberAt(header, 'forget_at') ?? 0) <= now) return undefined
  if (owner !== undefined && textAt(header, 'owner_print') !== hashOf(owner)) return undefined
  return {
    messages: numberAt(header, 'gone_messages') ?? 0,
    runs: numberAt(header, 'gone_runs') ?? 0,
    documents: numberAt(header, 'gone_documents') ?? 0,
    outputs: numberAt(header, 'gone_outputs') ?? 0,
    removed: flagAt(header, 'removed'),
  }
}
