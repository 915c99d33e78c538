import type { SessionKey } from '../domain/session.ts'

export interface Hint extends SessionKey {
  /** How often the run was handed from one process to the next; absent: never, or the sweeper found it (record 13). */
  readonly hops?: number
}

/**
 * Hints that a session may have work. Lost, doubled, late and reordered hints change nothing: exclusivity is in the lease,
 * order is in the header, and the sweeper finds what was lost.
 */
export interface RunQueue {
  /** Never rejects for a full or absent consumer; rejects when the hint could not be handed over. */
  send(hint: Hint): Promise<void>
  /** Calls `handle` for each hint until `stop`. When `handle` rejects, the hint comes again later. */
  consume(handle: (hint: Hint) => Promise<void>): { stop(): Promise<void> }
}
