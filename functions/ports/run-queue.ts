import type { SessionKey } from '../domain/session.ts'

export interface Hint extends SessionKey {
  /**
   * How many times the run was handed off from one process to the next. Absent: never, or the sweeper found the run
   * (decision record 13).
   */
  readonly hops?: number
}

/**
 * Hints that a session may have work. Lost, repeated, late and reordered hints do no harm: the lease keeps one writer,
 * the header keeps the order, and the sweeper finds lost work.
 */
export interface RunQueue {
  /** Sends a hint. Does not reject if the consumer is full or absent; rejects if the hint could not be sent. */
  send(hint: Hint): Promise<void>
  /**
   * Calls `handle` for each hint until `stop`. If `handle` rejects, the hint is delivered again later. A queue that
   * handles the hints of a session one after another calls `notice` for a waiting hint, because `handle` may execute
   * runs for hours.
   */
  consume(handle: (hint: Hint) => Promise<void>, notice?: (hint: Hint) => void): { stop(): Promise<void> }
}
