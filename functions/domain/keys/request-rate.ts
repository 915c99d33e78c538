export interface RequestRate {
  /** Microseconds between two evenly spaced requests; an integer, so that sums are exact. */
  readonly interval: number
  /** By how many microseconds requests may be early. */
  readonly early: number
}

/**
 * A cap on requests a second (the generic cell rate algorithm): for each key a store keeps the time at which the next
 * request of an even flow would be due. A request is accepted while that time is at most `early` away, and moves it on
 * by `interval`. So a key may burst up to one second's worth, at least one request.
 */
export function requestRate(requestsPerSecond: number): RequestRate {
  const interval = Math.floor(1_000_000 / requestsPerSecond)
  return { interval, early: Math.floor((Math.max(1, requestsPerSecond) - 1) * interval) }
}
