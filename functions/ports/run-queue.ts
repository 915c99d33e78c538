import type { SessionKey } from '../domain/session.ts'

export interface Hint extends SessionKey {
  /**
   * How often the run was handed from one process to the next. Absent: never, or the sweeper found the run (record 13).
   */
  readonly hops?: number
}

/**
 * Hints that a session may have work. Lost, doubled, late and reordered hints change nothing: the lease keeps one
 * writer, the header keeps the order, and the sweeper finds what was lost.
 */
export interface RunQueue {
  /** Never rejects for a full or absent consumer; rejects if the hint could not be delivered. */
  send(hint: Hint): Promise<void>
  /**
   * Calls `handle` for each hint until `stop`. If `handle` rejects, the hint is delivered again later. A queue that handles one hint of
   * a session at a time calls `notice` for a hint that waits: `handle` may execute runs for hours.
   */
  consume(handle: (hint: Hint) => Promise<void>, notice?: (hint: Hint) => void): { stop(): Promise<void> }
}
