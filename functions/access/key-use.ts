import type { ApiKey } from '../domain/keys/api-key.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'

const DAY_MS = 86_400_000

/**
 * Maximum number of keys that a process remembers. At this number, the process forgets all of them, and may store the
 * use of a key twice on one day.
 */
const MAX_REMEMBERED = 10_000

interface Dependencies {
  readonly keys: Pick<KeyStore, 'used'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/**
 * Records that a key is used. The record is written once a day (UTC) per key and process. Never rejects, because a
 * failure must not reject a request.
 */
export type KeyUse = (key: Pick<ApiKey, 'id'>) => Promise<void>

/** Creates the recorder of key uses. It remembers the keys whose use this process has stored today. */
export function createKeyUse({ keys, clock, log }: Dependencies): KeyUse {
  const stored = new Set<string>()
  let day = 0
  return async ({ id }) => {
    const now = clock.now()
    const today = Math.floor(now / DAY_MS)
    if (today !== day || stored.size >= MAX_REMEMBERED) stored.clear()
    day = today
    if (stored.has(id)) return
    stored.add(id)
    try {
      await keys.used(id, now)
    } catch (error) {
      stored.delete(id)
      log.error('could not store the last use of a key', error)
    }
  }
}
