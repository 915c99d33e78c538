import type { Clock } from '../ports/clock.ts'

/**
 * Maximum time that an exclusive delivery waits for other deliveries to end. Also the maximum time for which it runs
 * exclusively.
 */
const EXCLUSIVE_MS = 10_000
/** Maximum number of waiting exclusive deliveries. Further ones must wait for a later hint. */
const MAX_WAITING = 10

export interface DeliverySlot {
  /** Whether the delivery had to wait for its slot. Other deliveries may have run since it was requested. */
  readonly hasWaited: boolean
  end(): void
}

export interface DeliverySlots {
  /**
   * Resolves when the delivery may start. An exclusive delivery waits until no other delivery is in flight. While it runs, no
   * other delivery starts. Both are limited to `EXCLUSIVE_MS`. Between two exclusive deliveries, all other waiting deliveries
   * start. Returns undefined if too many exclusive deliveries wait, or if the signal has aborted.
   */
  take(isExclusive: boolean, signal: AbortSignal): Promise<DeliverySlot | undefined>
}

interface Waiting {
  /** Starts the delivery; resolves when it has ended. */
  begin(): Promise<void>
}

/** Creates the delivery slots of one process. */
export function createDeliverySlots(clock: Clock): DeliverySlots {
  const exclusives: Waiting[] = []
  const others: Waiting[] = []
  const begun = createInFlight()
  let isHeld = false

  async function admit(): Promise<void> {
    if (isHeld) return
    for (;;) {
      for (const one of others.splice(0)) void one.begin()
      if (exclusives.length === 0) return
      isHeld = true
      await within(clock, begun.noneLeft())
      const next = exclusives.shift()
      if (next !== undefined) await within(clock, next.begin())
      isHeld = false
    }
  }

  return {
    async take(isExclusive, signal) {
      if (signal.aborted || (isExclusive && exclusives.length >= MAX_WAITING)) return undefined
      if (!isExclusive && !isHeld) return begun.add(false).slot
      const asked = Promise.withResolvers<DeliverySlot | undefined>()
      const queue = isExclusive ? exclusives : others
      const one: Waiting = {
        begin() {
          signal.removeEventListener('abort', leave)
          const { slot, over } = begun.add(true)
          asked.resolve(slot)
          return over
        },
      }
      const leave = (): void => {
        const place = queue.indexOf(one)
        if (place >= 0) queue.splice(place, 1)
        asked.resolve(undefined)
      }
      signal.addEventListener('abort', leave, { once: true })
      queue.push(one)
      void admit()
      return asked.promise
    },
  }
}

/** Tracks the deliveries in flight. */
function createInFlight() {
  const inFlight = new Set<Promise<void>>()
  return {
    add(hasWaited: boolean): { readonly slot: DeliverySlot; readonly over: Promise<void> } {
      const { promise: over, resolve } = Promise.withResolvers<void>()
      inFlight.add(over)
      const end = (): void => {
        inFlight.delete(over)
        resolve()
      }
      return { slot: { hasWaited, end }, over }
    },
    async noneLeft(): Promise<void> {
      while (inFlight.size > 0) await Promise.all(inFlight)
    },
  }
}

/** Waits for work, at most `EXCLUSIVE_MS`. */
async function within(clock: Clock, work: Promise<void>): Promise<void> {
  const done = new AbortController()
  await Promise.race([work, clock.sleep(EXCLUSIVE_MS, done.signal).catch(() => undefined)])
  done.abort()
}
