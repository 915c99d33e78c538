import type { SessionKey } from '../domain/session.ts'

export interface Hint extends SessionKey {
  /**
   * Number of times that the run was handed off from one process to another. Absent if the run was never handed off, or if the
   * sweeper found the run (decision record 13).
   */
  readonly hops?: number
}

/**
 * A queue of hints. A hint says that a session may have work. Lost, repeated, late and reordered hints do no harm: the
 * lease keeps one writer, the header keeps the order, and the sweeper finds lost work.
 */
export interface RunQueue {
  /** Sends a hint. Rejects if the hint could not be sent. Resolves even if consumers are busy or absent. */
  send(hint: Hint): Promise<void>
  /**
   * Calls `handle` for each hint until `stop`. If `handle` rejects, the hint is delivered again later. A queue may
   * handle the hints of a session one after another. Such a queue calls `notice` with each hint that must wait, because
   * `handle` may execute runs for hours.
   */
  consume(handle: (hint: Hint) => Promise<void>, notice?: (hint: Hint) => void): { stop(): Promise<void> }
}
