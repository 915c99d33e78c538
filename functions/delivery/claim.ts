import { randomUUID } from 'node:crypto'
import type { Delivery } from '../domain/delivery.ts'
import { HEARTBEAT_MS, LEASE_MARGIN_MS, LEASE_MS } from '../domain/session.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { DeliveryChange, Outbox } from '../ports/outbox.ts'

/** Another process has claimed the delivery, or it was deleted with its session. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

export interface Claim {
  /** The delivery as it is stored. */
  readonly delivery: Delivery
  /** Aborts when the claim is lost or the given signal aborts. */
  readonly signal: AbortSignal
  /** Changes the row. Concurrent calls run one after another. Rejects with `ClaimLost` if the claim is lost or released. */
  change(change: DeliveryChange): Promise<void>
  /** Stops renewing the claim. */
  end(): Promise<void>
}

interface Dependencies {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly logger: Logger
}

/** Whether no process has a claim, or the claim has expired. */
export const isUnclaimed = ({ owner, due = 0 }: Delivery, now: number): boolean => owner === undefined || due <= now

/** Claims an unclaimed delivery, and renews the claim until `end` is called. Returns undefined if another process was faster. */
export async function claimDelivery(
  { outbox, clock, logger }: Dependencies,
  seen: Delivery,
  stopping: AbortSignal,
): Promise<Claim | undefined> {
  let until = clock.now() + LEASE_MS
  // The attempt is counted before the delivery's content is read. So the next process can detect that this one crashed.
  const begun = (seen.begun ?? 0) + 1
  const claimed = await outbox.change(seen, { owner: randomUUID(), due: until, hinted: null, begun })
  if (claimed === undefined) return undefined
  let delivery: Delivery = claimed
  let last: Promise<unknown> = Promise.resolve()
  const lost = new AbortController()
  const ended = new AbortController()
  const signal = AbortSignal.any([lost.signal, stopping])

  function change(to: DeliveryChange): Promise<void> {
    const done = last.then(async () => {
      // Throws if the claim is lost, or if the previous change released it. Without this check, a renewal that waited for
      // the previous change would make the row due again.
      if (lost.signal.aborted || delivery.owner === undefined)
        throw new ClaimLost(`delivery ${delivery.id} is no longer ours`)
      const sent = clock.now()
      const due = to.due === undefined ? sent + LEASE_MS : to.due
      const changed = await outbox.change(delivery, { ...to, due })
      if (changed === undefined) {
        lost.abort()
        throw new ClaimLost(`delivery ${delivery.id} was taken by another process, or deleted`)
      }
      delivery = changed
      until = due ?? Infinity
      // The store was so slow that the claim may expire before the next request arrives.
      if (to.due === undefined && clock.now() > until - LEASE_MARGIN_MS) {
        lost.abort()
        throw new ClaimLost(`the claim of delivery ${delivery.id} ended while it was stored`)
      }
    })
    last = done.catch(() => undefined)
    return done
  }

  const renewing = renew({ clock, logger }, { change, lost, ended: ended.signal, until: () => until })

  return {
    get delivery() {
      return delivery
    },
    signal,
    change,
    async end() {
      ended.abort()
      await renewing
    },
  }
}

/** Renews a claim until it is ended or lost. */
async function renew(
  { clock, logger }: Omit<Dependencies, 'outbox'>,
  claim: {
    readonly change: Claim['change']
    readonly lost: AbortController
    readonly ended: AbortSignal
    readonly until: () => number
  },
): Promise<void> {
  const { change, lost, ended, until } = claim
  while (!ended.aborted && !lost.signal.aborted) {
    await clock.sleep(HEARTBEAT_MS, ended).catch(() => undefined)
    if (ended.aborted) return
    await change({}).catch((error: unknown) => {
      if (!(error instanceof ClaimLost)) logger.warn('renewing a claim failed', { error: String(error) })
    })
    if (clock.now() > until() - LEASE_MARGIN_MS) lost.abort()
  }
}
