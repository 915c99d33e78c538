import type { JsonObject } from './json.ts'
import type { SessionKey } from './session.ts'

/** Where what comes of a run goes: a channel, by its name, and what that channel has to know. */
export interface NewDelivery {
  readonly kind: string
  readonly target: JsonObject
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

/** Names one delivery: the run's id, or the run's id with a number for one that a channel has added (`<run>.1`). */
export interface DeliveryKey extends SessionKey {
  readonly id: string
}

/** What a run owes to a channel. Times in milliseconds since 1970. */
export interface Delivery extends DeliveryKey, NewDelivery {
  readonly status: DeliveryStatus
  /** What the channel has recorded of it: its intents and what came of them. */
  readonly state: JsonObject
  /** Another one after each change. */
  readonly mark: string
  /** Who works on it, until `due`. Absent: nobody. */
  readonly owner?: string
  /** When somebody should look next; absent when it is over. */
  readonly due?: number
  /** A hint was sent for it: whoever gets it need not wait for `due`. */
  readonly hinted?: true
  /** Times in a row that the channel failed in a way it does not know. */
  readonly failures: number
  /** Times in a row that it was begun by somebody who has not said what came of it, the one that has it now included. */
  readonly begun?: number
  readonly createdAt: number
}

/** Milliseconds after which a delivery that nobody has looked at is due. */
const DELIVERY_POLL_MS = 60_000

/** The delivery that is stored with the run. */
export function newDelivery(key: DeliveryKey, { kind, target }: NewDelivery, now: number): Omit<Delivery, 'mark'> {
  const fields = { kind, target, status: 'pending', state: {}, failures: 0, createdAt: now } as const
  return { tenant: key.tenant, session: key.session, id: key.id, ...fields, due: now + DELIVERY_POLL_MS }
}

type Changes = {
  readonly [field in 'status' | 'state' | 'owner' | 'due' | 'hinted' | 'failures' | 'begun']?: Delivery[field] | null
}

/** A delivery as a change leaves it. */
export function changedDelivery(before: Delivery, change: Changes): Delivery {
  const fields = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(fields) as unknown as Delivery
}

/** The run that owes a delivery. */
export const runOfDelivery = ({ id }: Pick<DeliveryKey, 'id'>): string => id.slice(0, 26)

/** Left by so many in a row, it may be what they died of. */
const SUSPECT = 2
/** It is given up instead of begun once more: with the waits between them these take three hours. */
export const MAX_STARTS = 20
/** Milliseconds that it waits after the second one, doubled each time: who runs beside it gets on meanwhile. */
const FIRST_WAIT_MS = 60_000
const MAX_WAIT_MS = 600_000

/** Whether processes may have died of it: the first to leave it may have died of anything. */
export const isSuspect = ({ begun = 0 }: Pick<Delivery, 'begun'>): boolean => begun >= SUSPECT

/** Whether nobody begins it any more. */
export const isGivenUp = ({ begun = 0 }: Pick<Delivery, 'begun'>): boolean => begun >= MAX_STARTS

/** Milliseconds that one must wait whose claim has ended without a word; 0: it may be begun. */
export function waitAfterDeath({ owner, begun = 0 }: Pick<Delivery, 'owner' | 'begun'>): number {
  if (owner === undefined || begun < SUSPECT || begun >= MAX_STARTS) return 0
  return Math.min(FIRST_WAIT_MS * 2 ** (begun - SUSPECT), MAX_WAIT_MS)
}
