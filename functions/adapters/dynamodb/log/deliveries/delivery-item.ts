import { randomUUID } from 'node:crypto'
import { definedFields } from '../../../../domain/defined-fields.ts'
import { newDelivery, type Delivery, type DeliveryKey } from '../../../../domain/delivery.ts'
import type { NewRun } from '../../../../ports/run-inbox.ts'
import { flagAt, numberAt, requiredText, textAt, toItem, type Item, type Scalar } from '../../attributes.ts'
import { absent } from '../../expressions.ts'
import {
  DELIVERY_PREFIX,
  deliveryGroup,
  deliveryKey,
  ownersDeliveries,
  pendingKey,
  sessionOf,
  shardOf,
} from '../../keys.ts'
import type { Action } from '../../table.ts'

/** What the write that accepts a run must also contain for what the run owes to a channel. `header` is its session's. */
export function deliveryActions(
  key: DeliveryKey,
  header: Item,
  { delivery }: Pick<NewRun, 'delivery'>,
  now: number,
): Action[] {
  return delivery === undefined ? [] : putDelivery(newDelivery(key, delivery, now), header)
}

/**
 * Puts a new delivery. `group` and `at` list it, `owner_group` and `at` among those of its session's owner, `due_shard` and `due`
 * find it when it is due; an item of its own, while it is pending.
 */
export function putDelivery(delivery: Omit<Delivery, 'mark'>, header: Item): Action[] {
  const { tenant, kind, target, createdAt } = delivery
  const owner = textAt(header, 'owner_print')
  const fixed = { kind, target: JSON.stringify(target), created_at: createdAt }
  const place = {
    group: deliveryGroup(delivery, kind),
    owner_group: owner === undefined ? undefined : ownersDeliveries(tenant, kind, owner),
    at: delivery.id,
  }
  const item = toItem({ ...deliveryKey(delivery), ...fixed, ...place, mark: randomUUID(), ...fieldsOf(delivery) })
  return [{ put: item, when: absent('pk') }, flagPending(delivery)]
}

/** Lets a delivery be found as pending. */
export const flagPending = (key: DeliveryKey): Action => ({
  update: pendingKey(key),
  change: { set: { pending: true } },
})

/** The attributes that change; what a delivery does not have is undefined. */
export function fieldsOf(delivery: Omit<Delivery, 'mark'>): Record<string, Scalar | undefined> {
  const { status, state, owner, due, hinted, failures, begun } = delivery
  const shard = due === undefined ? undefined : shardOf('delivery', delivery)
  return { status, state: JSON.stringify(state), claimed_by: owner, due, due_shard: shard, hinted, failures, begun }
}

/** The delivery that an item holds. */
export function deliveryOf(item: Item): Delivery {
  const hinted: true | undefined = flagAt(item, 'hinted') || undefined
  return {
    ...sessionOf(item),
    id: requiredText(item, 'sk').slice(DELIVERY_PREFIX.length),
    kind: requiredText(item, 'kind'),
    // `putDelivery` and the changes after it wrote these from a delivery.
    target: JSON.parse(requiredText(item, 'target')) as Delivery['target'],
    status: requiredText(item, 'status') as Delivery['status'],
    state: JSON.parse(requiredText(item, 'state')) as Delivery['state'],
    mark: requiredText(item, 'mark'),
    ...definedFields({
      owner: textAt(item, 'claimed_by'),
      due: numberAt(item, 'due'),
      hinted,
      begun: numberAt(item, 'begun'),
    }),
    failures: numberAt(item, 'failures') ?? 0,
    createdAt: numberAt(item, 'created_at') ?? 0,
  }
}
