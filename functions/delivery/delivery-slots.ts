import type { Clock } from '../ports/clock.ts'

/** Milliseconds that whoever goes alone waits until the others have ended, and then has before others begin beside it. */
const EXCLUSIVE_MS = 10_000
/** Those that wait to go alone; what comes then is left to a later hint. */
const MAX_WAITING = 10

export interface DeliverySlot {
  /** Whether others have gone before it since it was asked for. */
  readonly hasWaited: boolean
  end(): void
}

export interface DeliverySlots {
  /**
   * Resolves when it may begin. Whoever goes `isExclusive` begins when nothing else is under way, and nothing begins beside it; both for a
   * bounded time, and between two that go alone all others begin that wait. Undefined: it may not begin, because too many wait to
   * go alone, or the signal has aborted.
   */
  take(isExclusive: boolean, signal: AbortSignal): Promise<DeliverySlot | undefined>
}

interface Waiting {
  /** Resolves when its turn has ended. */
  begin(): Promise<void>
}

/** Turns of one process. */
export function createDeliverySlots(clock: Clock): DeliverySlots {
  const exclusives: Waiting[] = []
  const others: Waiting[] = []
  const begun = createBegun()
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

/** What is under way. */
function createBegun() {
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

/** Waits for something, for a bounded time. */
async function within(clock: Clock, work: Promise<void>): Promise<void> {
  const done = new AbortController()
  await Promise.race([work, clock.sleep(EXCLUSIVE_MS, done.signal).catch(() => undefined)])
  done.abort()
}
