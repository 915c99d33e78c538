import { MAX_TIMER_MS } from '../../domain/time/time-limit.ts'
import type { Clock } from '../../ports/clock.ts'

/** Creates a clock that reads the system time. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    async sleep(milliseconds, signal) {
      for (let left = milliseconds; left >= 0; left -= MAX_TIMER_MS) await pause(Math.min(left, MAX_TIMER_MS), signal)
    },
  }
}

/**
 * Waits, or rejects with the signal's reason. `node:timers/promises` is not used, because it creates an `AbortError`
 * with a stack for each aborted wait.
 */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error)
      return
    }
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
