import type { Delivery, DeliveryKey } from '../domain/delivery.ts'
import type { Channel } from './channel.ts'

/** Deliveries that hints may have under way in one process; the sweeper finds the others again. */
const MAX_HINTED = 100
/** Of these, those of one tenant to one receiver: one that never responds must not hold up the others. */
const MAX_HINTED_TO_RECEIVER = 50

/** A delivery that this process works on. */
export interface InFlight {
  readonly key: DeliveryKey
  readonly done: Promise<void>
  /** The receiver of a delivery that a hint began; a run's own has none and counts to no limit. */
  readonly to?: string
  repeats: boolean
}

/** Names the receiver that the delivery goes to, within its tenant. */
export const receiverOf = (channels: ReadonlyMap<string, Channel>, { tenant, kind, target }: Delivery): string =>
  JSON.stringify([tenant, kind, channels.get(kind)?.destination?.(target) ?? target])

/** Whether a hint may begin one more. A run's own deliveries count to neither limit: some follow their run for hours. */
export function isFull(inFlight: ReadonlyMap<string, InFlight>, to?: string): boolean {
  const hinted = [...inFlight.values()].filter((one) => one.to !== undefined)
  return hinted.length >= MAX_HINTED || hinted.filter((one) => one.to === to).length >= MAX_HINTED_TO_RECEIVER
}
