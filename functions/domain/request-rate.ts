export interface RequestRate {
  /** Microseconds between two requests that come evenly; whole, so that adding them up rounds nothing. */
  readonly interval: number
  /** How many microseconds of these requests may come early, together. */
  readonly early: number
}

/**
 * A cap of requests a second as times (the generic cell rate algorithm): a store keeps, for each key, the time when its next
 * request would be due were they even. A request may come as long as that time is at most `early` away, and moves it on by
 * `interval`. So a key may burst up to one second's worth, at least one request.
 */
export function requestRate(requestsPerSecond: number): RequestRate {
  const interval = Math.floor(1_000_000 / requestsPerSecond)
  return { interval, early: Math.floor((Math.max(1, requestsPerSecond) - 1) * interval) }
}
