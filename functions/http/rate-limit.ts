import type { Clock } from '../ports/clock.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

export interface RateLimit {
  /** Takes one request from the key's allowance; answers the seconds to wait when there is none left, else undefined. */
  take(keyId: string, requestsPerSecond: number): number | undefined
}

/** Token buckets of one process: a key may burst up to one second's worth (at least one request). */
export function createRateLimit(clock: Clock): RateLimit {
  const buckets = new Map<string, Bucket>()
  return {
    take(keyId, requestsPerSecond) {
      const now = clock.now()
      const size = Math.max(1, requestsPerSecond)
      const bucket = buckets.get(keyId) ?? { tokens: size, filledAt: now }
      const refill = (Math.max(0, now - bucket.filledAt) / 1000) * requestsPerSecond
      const tokens = Math.min(size, bucket.tokens + refill)
      const allowed = tokens >= 1
      buckets.set(keyId, { tokens: allowed ? tokens - 1 : tokens, filledAt: now })
      return allowed ? undefined : Math.max(1, Math.ceil((1 - tokens) / requestsPerSecond))
    },
  }
}
