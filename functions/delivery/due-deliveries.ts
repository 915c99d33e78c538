import { inTime } from '../ports/time-limited.ts'
import { waitAfterDeath } from '../domain/delivery.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Outbox } from '../ports/outbox.ts'
import { repeatEvery, type Repetition } from '../ports/repeat-every.ts'
import type { RunQueue } from '../ports/run-queue.ts'

/** Due deliveries read at a time, and pages of one sweep. */
const PAGE = 200
const PAGES = 20
/** Milliseconds after which one that got a hint is looked at again, behind those that got none. */
const HINTED_MS = 10_000

interface Dependencies {
  readonly outbox: Outbox
  readonly queue: Pick<RunQueue, 'send'>
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Sends hints for deliveries that are due: retries whose time has come, and what dead processes and lost hints left. Each is then
 * postponed behind those that got none. Ends at `deadline` (milliseconds since 1970); the next sweep finds what is left. Returns how
 * many of them had got a hint before that nobody has followed.
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

/** Marked first: whoever gets the hint takes what is marked, although it is no longer due. Returns whether it was marked before. */
async function hint(
  { outbox, queue, clock, logger }: Dependencies,
  key: Parameters<Outbox['read']>[0],
): Promise<boolean> {
  try {
    const delivery = await outbox.read(key)
    if (delivery === undefined || (delivery.due ?? Infinity) > clock.now()) return false
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
