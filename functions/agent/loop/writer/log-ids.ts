import { latestId, nextIds } from '../../../domain/ids.ts'
import type { Clock } from '../../../ports/clock.ts'

/** The order of the ids in a log that one holder extends. */
export interface LogIds {
  /** The last id of the log, over all threads. */
  last(): string | undefined
  /** Reserves the next ids of the log. The ids are also greater than `after`, if it is given. */
  reserve(count: number, after?: string): string[]
  /**
   * Serializes extensions of the log, because ids must be stored in ascending order. `extend` reserves its ids and stores
   * them before another extension begins.
   */
  withMutex<Result>(extend: () => Promise<Result>): Promise<Result>
}

/** Numbers the messages after `head`, the last id of the log. */
export function createLogIds(head: string | undefined, clock: Clock): LogIds {
  let last = head
  let extended: Promise<unknown> = Promise.resolve()
  return {
    last: () => last,
    reserve(count, after) {
      const ids = nextIds(latestId([last, after]), clock.now(), count)
      last = ids.at(-1) ?? last
      return ids
    },
    withMutex(extend) {
      const extending = extended.then(extend)
      extended = extending.catch(() => undefined)
      return extending
    },
  }
}
