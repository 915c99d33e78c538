import { randomUUID } from 'node:crypto'
import { definedFields } from '../../../../domain/defined-fields.ts'
import { changedDelivery, newDelivery, type Delivery, type DeliveryKey } from '../../../../domain/delivery.ts'
import { fairShares } from '../../../../domain/fair-shares.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { DeliveryFilter, Outbox } from '../../../../ports/outbox.ts'
import { numberAt, requiredText, textAt, type Item } from '../../attributes.ts'
import { all, below, between, is, startsWith, type Change, type Condition } from '../../expressions.ts'
import {
  DELIVERY_PREFIX,
  deliveryGroups,
  deliveryKey,
  DUE_INDEX,
  GROUP_INDEX,
  headerKey,
  OWNER_INDEX,
  ownersDeliveries,
  partitionOf,
  PENDING_PREFIX,
  pendingKey,
  hashOf,
  sessionOf,
  shardsOf,
} from '../../keys.ts'
import { createTable, type Table, type TableDependencies } from '../../table.ts'
import { deliveryOf, fieldsOf, flagPending, putDelivery } from './delivery-item.ts'
import { isLive, live } from '../sessions/header-item.ts'

/**
 * Maximum number of deliveries that are read for one page of a filter by status. The index has no status, so each
 * delivery must be read.
 */
const MAX_DELIVERIES_READ = 500

/** Creates the outbox on DynamoDB. Deliveries are items in their session's partition. */
export function createDynamoOutbox(dependencies: TableDependencies): Outbox {
  const table = createTable(dependencies)
  const { clock } = dependencies
  return {
    async add(key, delivery, state) {
      const header = await table.read(headerKey(key))
      if (!isLive(header)) return false
      const put = putDelivery({ ...newDelivery(key, delivery, clock.now()), state, due: clock.now() }, header)
      return (await table.write([{ check: headerKey(key), when: live }, ...put])) === undefined
    },
    async read(key) {
      const item = await table.read(deliveryKey(key))
      return item && deliveryOf(item)
    },
    pending: (key, limit, after) => pendingOf(table, key, limit, after),
    async change(seen, change) {
      const now = { ...changedDelivery(seen, change), mark: randomUUID() }
      const fields = Object.entries({ ...fieldsOf(now), mark: now.mark })
      const remove = fields.flatMap(([name, value]) => (value === undefined ? [name] : []))
      const to = { set: Object.fromEntries(fields), remove }
      // A process with a hint reads only deliveries with a pending mark. An older version may have stored this delivery
      // without one. So a change with a hint always writes the pending mark.
      const mustFlag = now.status !== seen.status || change.hinted === true
      const { done, item } = mustFlag ? await changeAndFlag(table, seen, now, to) : await changeOnly(table, seen, to)
      // If the stored item has this change's `mark`, the write succeeded although its response was lost.
      return done || (item !== undefined && textAt(item, 'mark') === now.mark) ? now : undefined
    },
    async due(now, limit) {
      const found = await Promise.all(shardsOf('delivery').map((shard) => dueOf(table, shard, now, limit)))
      return fairShares(found.flat(), limit)
    },
    list: (filter) => listDeliveries(table, filter),
    async find(tenant, kind, id) {
      const [found] = await listed(table, ofTenant(tenant, kind), is('at', id), 1)
      const item = found && (await table.read(deliveryKey(found)))
      return item && deliveryOf(item)
    },
  }
}

/** Reads the pending marks first, then their deliveries. Omits deliveries that have ended between the two reads. */
async function pendingOf(table: Table, key: SessionKey, limit: number, after = ''): Promise<Delivery[]> {
  const found: Delivery[] = []
  // A query allows only one condition on `sk`. No id contains `\u0000` or `\uffff`, so these bounds select exactly the
  // pending marks after the id `after`.
  const range = between('sk', `${PENDING_PREFIX}${after}\u0000`, `${PENDING_PREFIX}\uffff`)
  const keys = all(is('pk', partitionOf(key)), range)
  const read = async (ids: readonly string[]): Promise<void> => {
    for (const item of await table.readMany(ids.map((id) => deliveryKey({ ...key, id }))))
      if (item !== undefined && textAt(item, 'status') === 'pending') found.push(deliveryOf(item))
  }
  let ids: string[] = []
  for await (const item of table.query({ keys, pageSize: Math.min(limit, MAX_DELIVERIES_READ) })) {
    ids.push(requiredText(item, 'sk').slice(PENDING_PREFIX.length))
    if (ids.length + found.length < limit) continue
    await read(ids)
    ids = []
    if (found.length >= limit) return found
  }
  await read(ids)
  return found
}

const changeOnly = (table: Table, seen: Delivery, to: Change) =>
  table.update(deliveryKey(seen), is('mark', seen.mark), to)

/** Changes a delivery and its pending mark in one write. */
async function changeAndFlag(
  table: Table,
  seen: Delivery,
  { status }: Pick<Delivery, 'status'>,
  to: Change,
): Promise<{ readonly done: boolean; readonly item: Item | undefined }> {
  const refusal = await table.write([
    { update: deliveryKey(seen), when: is('mark', seen.mark), change: to },
    status === 'pending' ? flagPending(seen) : { remove: pendingKey(seen) },
  ])
  return { done: refusal === undefined, item: refusal?.[0]?.item }
}

async function dueOf(table: Table, shard: string, now: number, limit: number) {
  const found: { key: DeliveryKey; due: number }[] = []
  const keys = all(is('due_shard', shard), below('due', now + 1))
  for await (const item of table.query({ index: DUE_INDEX, keys, pageSize: Math.min(limit, 1_000) })) {
    found.push({ key: keyOf(item), due: numberAt(item, 'due') ?? 0 })
    if (found.length >= limit) break
  }
  return found
}

const keyOf = (item: Item): DeliveryKey => ({
  ...sessionOf(item),
  id: requiredText(item, 'sk').slice(DELIVERY_PREFIX.length),
})

/** A list in one of the indexes. `parts` has one condition for each partition of the list. */
interface Listing {
  readonly index: string
  readonly parts: readonly Condition[]
}

const ofTenant = (tenant: string, kind: string): Listing => ({
  index: GROUP_INDEX,
  parts: deliveryGroups(tenant, kind).map((group) => is('group', group)),
})

const ofOwner = (tenant: string, kind: string, owner: string): Listing => ({
  index: OWNER_INDEX,
  parts: [is('owner_group', ownersDeliveries(tenant, kind, hashOf(owner)))],
})

/** Returns at most `limit` entries of a list, newest first. */
async function listed(
  table: Table,
  { index, parts }: Listing,
  range: Condition | undefined,
  limit: number,
): Promise<DeliveryKey[]> {
  const ofPart = async (part: Condition): Promise<DeliveryKey[]> => {
    const found: DeliveryKey[] = []
    const keys = range === undefined ? part : all(part, range)
    for await (const item of table.query({ index, keys, descending: true, pageSize: limit })) {
      found.push(keyOf(item))
      if (found.length >= limit) break
    }
    return found
  }
  return (await Promise.all(parts.map(ofPart)))
    .flat()
    .toSorted((left, right) => (left.id < right.id ? 1 : -1))
    .slice(0, limit)
}

async function listDeliveries(table: Table, filter: DeliveryFilter): ReturnType<Outbox['list']> {
  const { tenant, kind, status, limit } = filter
  const { items, stopped } =
    filter.session === undefined
      ? await newest(table, filter)
      : await newestOfSession(table, { tenant, session: filter.session }, filter.after)
  const read = items.map(deliveryOf)
  const found = read.filter((one) => one.kind === kind && (status === undefined || one.status === status))
  const page = found.slice(0, limit)
  const next = found.length > limit ? page.at(-1)?.id : stopped
  return { deliveries: page, ...definedFields({ next }) }
}

/** `stopped`: the id of the last delivery that was read, if more may follow. */
interface Newest {
  readonly items: readonly Item[]
  readonly stopped: string | undefined
}

async function newest(table: Table, { tenant, kind, owner, status, limit, after }: DeliveryFilter): Promise<Newest> {
  const listing = owner === undefined ? ofTenant(tenant, kind) : ofOwner(tenant, kind, owner)
  const before = after === undefined ? undefined : below('at', after)
  const most = status === undefined ? limit + 1 : MAX_DELIVERIES_READ
  const keys = await listed(table, listing, before, most)
  const items = (await table.readMany(keys.map(deliveryKey))).filter((item) => item !== undefined)
  // The index may still list deleted deliveries. So the number of keys, not of items, shows whether more may follow.
  return { items, stopped: keys.length >= most ? keys.at(-1)?.id : undefined }
}

async function newestOfSession(table: Table, key: SessionKey, after: string | undefined): Promise<Newest> {
  const found: Item[] = []
  const keys = all(is('pk', partitionOf(key)), startsWith('sk', DELIVERY_PREFIX))
  for await (const item of table.query({ keys, descending: true })) {
    if (after !== undefined && keyOf(item).id >= after) continue
    found.push(item)
    if (found.length >= MAX_DELIVERIES_READ) return { items: found, stopped: keyOf(item).id }
  }
  return { items: found, stopped: undefined }
}
