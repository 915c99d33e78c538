import { steadyTime } from '../../../domain/time/steady-time.ts'
import type { Clock } from '../../../ports/clock.ts'

/** Slack's limits of calls per minute, by method and workspace; for `postMessage`, by channel. */
const PER_MINUTE: { readonly [method: string]: number } = {
  'chat.startStream': 20,
  'chat.stopStream': 20,
  'chat.appendStream': 100,
  'chat.postMessage': 60,
  'chat.update': 50,
  'conversations.replies': 50,
  'agents.sessions.setStatus': 50,
  'assistant.threads.setSuggestedPrompts': 100,
  'files.getUploadURLExternal': 100,
  'files.completeUploadExternal': 100,
  'users.info': 100,
}
const OTHERS = 50
const MINUTE_MS = 60_000
/** Limit of a `Retry-After`. A longer one could block a method for the rest of the process's life. */
const MAX_PAUSE_MS = 3_600_000
/** Maximum number of queues in memory. Beyond this limit, the oldest queues are dropped. */
const MAX_QUEUES = 1_000

export interface RateLimits {
  /** Milliseconds that a call would have to wait now. */
  wait(place: string, method: string): number
  /** Counts a call that is sent as soon as the limits allow it: now, or after `wait` milliseconds. */
  take(place: string, method: string): void
  /** Blocks a method for this time, after Slack rejected a call. */
  pause(place: string, method: string, milliseconds: number): void
}

/** Keeps the calls of this process within Slack's limits, and respects `Retry-After`. */
export function createRateLimits(clock: Pick<Clock, 'now'>): RateLimits {
  const now = steadyTime(() => clock.now())
  const places = new Map<string, { readonly taken: number[]; pausedUntil: number }>()

  function placeOf(place: string, method: string): { readonly taken: number[]; pausedUntil: number } {
    const name = `${method} ${place}`
    const known = places.get(name) ?? { taken: [], pausedUntil: 0 }
    places.delete(name)
    places.set(name, known)
    for (const oldest of places.keys()) {
      if (places.size <= MAX_QUEUES) break
      places.delete(oldest)
    }
    return known
  }

  function wait(place: string, method: string): number {
    const { taken, pausedUntil } = placeOf(place, method)
    const time = now()
    while (taken.length > 0 && (taken[0] ?? 0) <= time - MINUTE_MS) taken.shift()
    const most = PER_MINUTE[method] ?? OTHERS
    const free = taken.length < most ? 0 : (taken[taken.length - most] ?? 0) + MINUTE_MS
    return Math.max(0, pausedUntil - time, free - time)
  }

  return {
    wait,
    take(place, method) {
      const at = now() + wait(place, method)
      placeOf(place, method).taken.push(at)
    },
    pause(place, method, milliseconds) {
      const known = placeOf(place, method)
      known.pausedUntil = Math.max(known.pausedUntil, now() + Math.min(milliseconds, MAX_PAUSE_MS))
    },
  }
}
