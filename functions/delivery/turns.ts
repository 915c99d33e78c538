import type { Clock } from '../ports/clock.ts'

/** Milliseconds that whoever goes alone waits until the others have ended, and then has before others begin beside it. */
const ALONE_MS = 10_000
/** Those that wait to go alone; what comes then is left to a later hint. */
const MOST_WAITING = 10

export interface Turn {
  /** Whether others have gone before it since it was asked for. */
  readonly hasWaited: boolean
  end(): void
}

export interface Turns {
  /**
   * Resolves when it may begin. Whoever goes `alone` begins when nothing else is under way, and nothing begins beside it; both for a
   * bounded time, and between two that go alone all others begin that wait. Undefined: it may not begin, because too many wait to
   * go alone, or the signal has aborted.
   */
  take(alone: boolean, signal: AbortSignal): Promise<Turn | undefined>
}

interface Waiting {
  /** Resolves when its turn has ended. */
  begin(): Promise<void>
}

/** Turns of one process. */
export function createTurns(clock: Clock): Turns {
  const lone: Waiting[] = []
  const others: Waiting[] = []
  let underWay = 0
  let isHeld = false
  let emptied = Promise.withResolvers<void>()

  function begin(hasWaited: boolean): { readonly turn: Turn; readonly over: Promise<void> } {
    const over = Promise.withResolvers<void>()
    underWay++
    const end = (): void => {
      underWay--
      over.resolve()
      if (underWay > 0) return
      emptied.resolve()
      emptied = Promise.withResolvers()
    }
    return { turn: { hasWaited, end }, over: over.promise }
  }

  const within = async (work: Promise<void>): Promise<void> => {
    const done = new AbortController()
    await Promise.race([work, clock.sleep(ALONE_MS, done.signal).catch(() => undefined)])
    done.abort()
  }

  async function admit(): Promise<void> {
    if (isHeld) return
    for (;;) {
      for (const one of others.splice(0)) void one.begin()
      if (lone.length === 0) return
      isHeld = true
      if (underWay > 0) await within(emptied.promise)
      const next = lone.shift()
      if (next !== undefined) await within(next.begin())
      isHeld = false
    }
  }

  return {
    async take(alone, signal) {
      if (signal.aborted || (alone && lone.length >= MOST_WAITING)) return undefined
      if (!alone && !isHeld) return begin(false).turn
      const queue = alone ? lone : others
      return new Promise((resolve) => {
        const one: Waiting = {
          begin() {
            signal.removeEventListener('abort', leave)
            const { turn, over } = begin(true)
            resolve(turn)
            return over
          },
        }
        const leave = (): void => {
          const place = queue.indexOf(one)
          if (place >= 0) queue.splice(place, 1)
          resolve(undefined)
        }
        signal.addEventListener('abort', leave, { once: true })
        queue.push(one)
        void admit()
      })
    },
  }
}
