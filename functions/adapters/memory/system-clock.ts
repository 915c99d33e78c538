import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../ports/clock.ts'

/** The machine's own clock. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    async sleep(milliseconds, signal) {
      try {
        await sleep(milliseconds, undefined, signal === undefined ? {} : { signal })
      } catch (error) {
        throw signal?.aborted === true ? signal.reason : error
      }
    },
  }
}
