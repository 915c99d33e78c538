import type { Delivery } from '../domain/delivery.ts'
import type { Clock } from '../ports/clock.ts'
import type { Channel } from './channel.ts'
import { giveUp, type GivingUp } from './give-up.ts'

/** Time for which a delivery stays due, so that a process with its settings can claim it. */
const LEFT_TO_OTHERS_MS = 30_000
/** Time by which a delivery is postponed if no process claims it within `LEFT_TO_OTHERS_MS`. */
const POSTPONED_MS = 600_000
/** Number of postponements after which a delivery fails. Together, the postponements last about a day. */
const MAX_POSTPONEMENTS = 150

interface Dependencies extends GivingUp {
  readonly clock: Clock
}

/** Whether this process has the channel and the settings for a delivery. If not, other processes deliver it. */
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
 * Whether this process leaves a due delivery to other processes. If no process has claimed the delivery within
 * `LEFT_TO_OTHERS_MS`, postpones it.
 */
export async function isLeft(dependencies: Dependencies, seen: Delivery): Promise<boolean> {
  if (await isServed(dependencies, seen)) return false
  const { clock } = dependencies
  const { due = 0 } = seen
  if (clock.now() - due >= LEFT_TO_OTHERS_MS) await postponeUnserved(dependencies, seen)
  return true
}

/**
 * Postpones a delivery for which this process has no channel or no settings, so that it does not hide other due deliveries. If no
 * process ever claims it, the delivery fails after about a day. A delivery of an unknown kind never fails, because a newer
 * version may have stored it.
 */
export async function postponeUnserved(dependencies: Dependencies, seen: Delivery): Promise<void> {
  const { outbox, channels, clock, logger } = dependencies
  const { tenant, session, id, kind } = seen
  const failures = channels.has(kind) ? seen.failures + 1 : seen.failures
  if (failures >= MAX_POSTPONEMENTS) return giveUp(dependencies, seen, 'abandoned: no program has the settings for it')
  logger.warn('no program has the settings for a delivery: it is postponed', { tenant, session, delivery: id, kind })
  await outbox.change(seen, { due: clock.now() + POSTPONED_MS, owner: null, hinted: null, failures })
}
