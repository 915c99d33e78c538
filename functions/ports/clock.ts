/** A source of time that tests can control. */
export interface Clock {
  /** Milliseconds since 1970. May jump backwards, so durations are measured with `steadyTime`. */
  now(): number
  /** Resolves after `milliseconds`, or rejects with the signal's reason as soon as the signal aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
}
