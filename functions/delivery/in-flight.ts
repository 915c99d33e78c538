import type { Delivery, DeliveryKey } from '../domain/delivery.ts'
import type { Channel } from './channel.ts'

/** Concurrent hint-driven deliveries per process; the sweeper retries the rest. */
const MAX_HINTED = 100
/**
 * Concurrent hint-driven deliveries of one tenant to one receiver, so that an unresponsive receiver does not block
 * others.
 */
const MAX_HINTED_TO_RECEIVER = 50

/** A delivery that this process works on. */
export interface InFlight {
  readonly key: DeliveryKey
  readonly done: Promise<void>
  /**
   * The receiver of a delivery that a hint started. Absent for the delivery of a run that this process executes; such a
   * delivery counts towards no limit.
   */
  readonly to?: string
  repeats: boolean
}

/** Returns a text that identifies the receiver of a delivery. The text contains the tenant. */
export const receiverOf = (channels: ReadonlyMap<string, Channel>, { tenant, kind, target }: Delivery): string =>
  JSON.stringify([tenant, kind, channels.get(kind)?.destination?.(target) ?? target])

/**
 * Whether the limits for deliveries started by hints are reached. Deliveries of runs that execute here do not count, because some
 * follow their run for hours.
 */
export function isFull(inFlight: ReadonlyMap<string, InFlight>, to?: string): boolean {
  const hinted = [...inFlight.values()].filter((one) => one.to !== undefined)
  return hinted.length >= MAX_HINTED || hinted.filter((one) => one.to === to).length >= MAX_HINTED_TO_RECEIVER
}
