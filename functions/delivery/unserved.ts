import type { Delivery } from '../domain/delivery.ts'
import type { Clock } from '../ports/clock.ts'
import type { Channel } from './channel.ts'
import { giveUp, type GivingUp } from './give-up.ts'

/** Time for which a due delivery stays due, so that a process with its settings can claim it. */
const LEFT_TO_OTHERS_MS = 30_000
/** Wait of a delivery that no process has claimed within that time. */
const POSTPONED_MS = 600_000
/** Times that a delivery is postponed before it fails: about a day. */
const MAX_POSTPONEMENTS = 150

interface Dependencies extends GivingUp {
  readonly clock: Clock
}

/** Whether this process has the channel and the settings for a delivery. If not, it leaves the delivery to others. */
export async function isServed(
  { channels }: { readonly channels: ReadonlyMap<string, Channel> },
  { kind, target }: Delivery,
): Promise<boolean> {
  const channel = channels.get(kind)
  return channel !== undefined && ((await channel.serves?.(target)) ?? true)
}

/** Makes a delivery due for other processes, which sweep for due deliveries. */
export async function leaveToOthers({ outbox, clock }: Dependencies, seen: Delivery): Promise<void> {
  const now = clock.now()
  if (seen.hinted !== true && (seen.due ?? now) > now) await outbox.change(seen, { due: now })
}

/**
 * Whether this process leaves a due delivery to others, which get time to claim it. It is postponed after that. A process
 * that has no place for a delivery yet marks it repeatedly, and so it is due for a short time only.
 */
export async function isLeft(dependencies: Dependencies, seen: Delivery): Promise<boolean> {
  if (await isServed(dependencies, seen)) return false
  const { clock } = dependencies
  const { due = 0 } = seen
  if (clock.now() - due >= LEFT_TO_OTHERS_MS) await postponeUnserved(dependencies, seen)
  return true
}

/**
 * Postpones a delivery without a channel or settings here, so that it does not hide others that are due. If no process
 * ever claims it, the delivery fails after a day. A delivery of an unknown kind never fails: a newer version may have
 * stored it.
 */
export async function postponeUnserved(dependencies: Dependencies, seen: Delivery): Promise<void> {
  const { outbox, channels, clock, logger } = dependencies
  const { tenant, session, id, kind } = seen
  const failures = channels.has(kind) ? seen.failures + 1 : seen.failures
  if (failures >= MAX_POSTPONEMENTS) return giveUp(dependencies, seen, 'abandoned: no program has the settings for it')
  logger.warn('no program has the settings for a delivery: it is postponed', { tenant, session, delivery: id, kind })
  await outbox.change(seen, { due: clock.now() + POSTPONED_MS, owner: null, hinted: null, failures })
}
