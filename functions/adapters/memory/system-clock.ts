import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_TIMER_MS } from '../../domain/time/time-limit.ts'
import type { Clock } from '../../ports/clock.ts'

/** Creates a clock that reads the system time. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    async sleep(milliseconds, signal) {
      try {
        for (let left = milliseconds; left >= 0; left -= MAX_TIMER_MS)
          await sleep(Math.min(left, MAX_TIMER_MS), undefined, signal === undefined ? {} : { signal })
      } catch (error) {
        throw signal?.aborted === true ? signal.reason : error
      }
    },
  }
}
