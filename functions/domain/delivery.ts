import type { JsonObject } from './json.ts'
import type { SessionKey } from './session.ts'

/** The target of a run's delivery: a channel, by its name, and the data that this channel needs. */
export interface NewDelivery {
  readonly kind: string
  readonly target: JsonObject
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

/**
 * Identifies a delivery. The id is the run's id, followed by a number if a channel has added the delivery (`<run>.1`).
 */
export interface DeliveryKey extends SessionKey {
  readonly id: string
}

/** A run's delivery to a channel, a row of the outbox. Times are in milliseconds since 1970. */
export interface Delivery extends DeliveryKey, NewDelivery {
  readonly status: DeliveryStatus
  /** The channel's own record: its intentions and their outcomes. */
  readonly state: JsonObject
  /** A value that changes with every write to the row. */
  readonly mark: string
  /** The worker that has claimed the delivery until `due`; absent if unclaimed. */
  readonly owner?: string
  /** When a worker should process the delivery next; absent for a finished delivery. */
  readonly due?: number
  /** Set if a hint was sent for this delivery. The worker that receives the hint need not wait for `due`. */
  readonly hinted?: true
  /** Number of consecutive failures of the channel with an unknown cause. */
  readonly failures: number
  /** Number of consecutive starts without an outcome, including the current one. */
  readonly begun?: number
  readonly createdAt: number
}

/** Time after which a new delivery is due, if no worker has processed it. */
const DELIVERY_POLL_MS = 60_000

/** Builds the delivery that is stored with the run. */
export function newDelivery(key: DeliveryKey, { kind, target }: NewDelivery, now: number): Omit<Delivery, 'mark'> {
  const fields = { kind, target, status: 'pending', state: {}, failures: 0, createdAt: now } as const
  return { tenant: key.tenant, session: key.session, id: key.id, ...fields, due: now + DELIVERY_POLL_MS }
}

type Changes = {
  readonly [field in 'status' | 'state' | 'owner' | 'due' | 'hinted' | 'failures' | 'begun']?: Delivery[field] | null
}

/** Applies a change to a delivery. */
export function changedDelivery(before: Delivery, change: Changes): Delivery {
  const fields = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(fields) as unknown as Delivery
}

/** The id of a delivery's run. */
export const runOfDelivery = ({ id }: Pick<DeliveryKey, 'id'>): string => id.slice(0, 26)

/** After this many consecutive starts without an outcome, the delivery is suspected of crashing its process. */
const SUSPECT = 2
/** Number of starts after which a delivery is abandoned. With the waits between them, these starts take three hours. */
export const MAX_STARTS = 20
/**
 * Waiting time of a delivery after its second crash. The time doubles with each further crash. Meanwhile, the process
 * makes progress with its other deliveries.
 */
const FIRST_WAIT_MS = 60_000
const MAX_WAIT_MS = 600_000

/** Whether the delivery is suspected of crashing processes. One crash is not enough: it may have another cause. */
export const isSuspect = ({ begun = 0 }: Pick<Delivery, 'begun'>): boolean => begun >= SUSPECT

/** Whether the delivery is abandoned because it was started too often. */
export const isGivenUp = ({ begun = 0 }: Pick<Delivery, 'begun'>): boolean => begun >= MAX_STARTS

/** How long a delivery must wait because its last worker crashed, in milliseconds. 0: it may start. */
export function waitAfterDeath({ owner, begun = 0 }: Pick<Delivery, 'owner' | 'begun'>): number {
  if (owner === undefined || begun < SUSPECT || begun >= MAX_STARTS) return 0
  return Math.min(FIRST_WAIT_MS * 2 ** (begun - SUSPECT), MAX_WAIT_MS)
}
