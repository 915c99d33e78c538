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

/**
 * Returns the actions that create a run's delivery, to be part of the write that accepts the run. `header` is the
 * header of its session.
 */
export function deliveryActions(
  key: DeliveryKey,
  header: Item,
  { delivery }: Pick<NewRun, 'delivery'>,
  now: number,
): Action[] {
  return delivery === undefined ? [] : putDelivery(newDelivery(key, delivery, now), header)
}

/**
 * Returns the actions that create a delivery. The attributes `group` and `at` list the delivery by tenant. The
 * attributes `owner_group` and `at` list the delivery by the owner of its session. If a delivery is due, it is found by
 * `due_shard` and `due`. A separate item marks the delivery while it is pending.
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

/** Returns the action that marks a delivery as pending. */
export const flagPending = (key: DeliveryKey): Action => ({
  update: pendingKey(key),
  change: { set: { pending: true } },
})

/** Returns the attributes that may change; missing ones are undefined. */
export function fieldsOf(delivery: Omit<Delivery, 'mark'>): Record<string, Scalar | undefined> {
  const { status, state, owner, due, hinted, failures, begun } = delivery
  const shard = due === undefined ? undefined : shardOf('delivery', delivery)
  return { status, state: JSON.stringify(state), claimed_by: owner, due, due_shard: shard, hinted, failures, begun }
}

/** Returns the delivery of an item. */
export function deliveryOf(item: Item): Delivery {
  const hinted: true | undefined = flagAt(item, 'hinted') || undefined
  return {
    ...sessionOf(item),
    id: requiredText(item, 'sk').slice(DELIVERY_PREFIX.length),
    kind: requiredText(item, 'kind'),
    // The casts are safe: `putDelivery` and later changes wrote these attributes from a delivery.
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
