export interface RequestRate {
  /** Microseconds between two evenly spaced requests; an integer, so that sums are exact. */
  readonly interval: number
  /** Number of microseconds by which a request may be early. */
  readonly early: number
}

/**
 * Computes the parameters of a cap on requests per second (generic cell rate algorithm). For each key, a store keeps
 * the time at which the next request of an even flow would be due. A request is accepted if this time is at most
 * `early` in the future. The store then adds `interval` to the time. So a key may burst up to one second's worth of
 * requests, and at least one.
 */
export function requestRate(requestsPerSecond: number): RequestRate {
  const interval = Math.floor(1_000_000 / requestsPerSecond)
  return { interval, early: Math.floor((Math.max(1, requestsPerSecond) - 1) * interval) }
}
