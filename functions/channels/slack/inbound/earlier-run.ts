import type { Delivery } from '../../../domain/delivery.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Outbox } from '../../../ports/outbox.ts'
import { REPLY_KIND } from './submit-message.ts'

/**
 * Maximum age of a row at which the store certainly still has the idempotency key of the row's run. The store keeps a
 * key for 24 hours.
 */
const KEY_KNOWN_MS = 23 * 3_600_000
/** Largest difference between the clocks of two processes. */
const CLOCK_SKEW_MS = 3_600_000
/** Deliveries in one page of the outbox. */
const PAGE = 100

/**
 * Whether an earlier worker of this row accepted the row's run, but crashed before it recorded the run. Returns false
 * in the first 23 hours, because the idempotency key detects a repetition during that time. After 23 hours, searches the
 * outbox for the run's reply, which stays there as long as the session exists. `isReply`: whether a delivery is the reply
 * of that run.
 */
export async function hasEarlierRun(
  { outbox, clock }: { readonly outbox: Pick<Outbox, 'list'>; readonly clock: Clock },
  { tenant, session, createdAt }: Delivery,
  isReply: (reply: Delivery) => boolean,
): Promise<boolean> {
  if (clock.now() - createdAt < KEY_KNOWN_MS) return false
  for (let after: string | undefined; ;) {
    const filter = { tenant, session, kind: REPLY_KIND, limit: PAGE, ...definedFields({ after }) }
    const { deliveries, next } = await outbox.list(filter)
    if (deliveries.some(isReply)) return true
    const oldest = deliveries.at(-1)
    if (next === undefined || (oldest !== undefined && oldest.createdAt < createdAt - CLOCK_SKEW_MS)) return false
    after = next
  }
}
