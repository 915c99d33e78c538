import { inTime } from '../ports/time-limited.ts'
import { waitAfterDeath } from '../domain/delivery.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Outbox } from '../ports/outbox.ts'
import { repeatEvery, type Repetition } from '../ports/repeat-every.ts'
import type { RunQueue } from '../ports/run-queue.ts'

/** Number of due deliveries in one page, and of pages in one sweep. */
const PAGE = 200
const PAGES = 20
/** Time by which a sweep postpones a hinted delivery, so that deliveries without a hint are visited first. */
const HINTED_MS = 10_000

interface Dependencies {
  readonly outbox: Outbox
  readonly queue: Pick<RunQueue, 'send'>
  readonly clock: Clock
  readonly logger: Logger
  /** Whether this process leaves a due delivery to other processes. Default: no. */
  readonly isLeft?: (delivery: Delivery) => Promise<boolean>
}

/**
 * Sends hints for due deliveries: retries, and deliveries whose process crashed or whose hint was lost. Each hinted
 * delivery is postponed behind the others. Ends at `deadline` (milliseconds since 1970); the next sweep finds the rest.
 * Returns the number of deliveries that had been hinted before and are still due.
 */
export async function hintDueDeliveries(ports: Dependencies, deadline = Infinity): Promise<number> {
  const dependencies = inTime(ports)
  const { outbox, clock } = dependencies
  const seen = new Set<string>()
  let late = 0
  for (let page = 0; page < PAGES && clock.now() <= deadline; page++) {
    const due = await outbox.due(clock.now(), PAGE)
    const unseen = due.filter(({ key }) => !seen.has(`${key.tenant}/${key.session}/${key.id}`))
    for (const { key } of unseen) {
      if (clock.now() > deadline) return late
      seen.add(`${key.tenant}/${key.session}/${key.id}`)
      if (await hint(dependencies, key)) late++
    }
    if (due.length < PAGE || unseen.length === 0) return late
  }
  return late
}

/**
 * Marks the delivery, then sends the hint. The process that receives the hint takes marked deliveries, even if they are no longer
 * due. Returns whether the delivery was already marked.
 */
async function hint(
  { outbox, queue, clock, logger, isLeft }: Dependencies,
  key: Parameters<Outbox['read']>[0],
): Promise<boolean> {
  try {
    const delivery = await outbox.read(key)
    if (delivery === undefined || (delivery.due ?? Infinity) > clock.now()) return false
    if ((await isLeft?.(delivery)) === true) return false
    const wait = waitAfterDeath(delivery)
    if (wait > 0) {
      await outbox.change(delivery, { owner: null, hinted: null, due: clock.now() + wait })
      return false
    }
    const marked = await outbox.change(delivery, { owner: null, hinted: true, due: clock.now() + HINTED_MS })
    if (marked !== undefined) await queue.send({ tenant: key.tenant, session: key.session })
    return delivery.hinted === true
  } catch (error) {
    logger.error('hinting at a delivery failed', error, { ...key })
    return false
  }
}

/** Sweeps repeatedly until stopped. */
export const startDueDeliveries = (dependencies: Dependencies, everyMs: number): Repetition =>
  repeatEvery(
    dependencies.clock,
    everyMs,
    () => hintDueDeliveries(dependencies),
    (error) => dependencies.logger.error('a sweep of deliveries failed', error),
  )
