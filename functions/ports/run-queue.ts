import type { SessionKey } from '../domain/session.ts'

export interface Hint extends SessionKey {
  /** How often the work was handed from one process to the next; absent: not yet, or found by the sweeper (record 13). */
  readonly hops?: number
}

/**
 * Hints that a session may have work. Lost, doubled, late and reordered hints change nothing: exclusivity is the lease,
 * order is the header's, and the sweeper finds what was lost.
 */
export interface RunQueue {
  /** Never rejects for a full or absent consumer; rejects when the hint could not be handed over. */
  send(hint: Hint): Promise<void>
  /** Calls `handle` for each hint until `stop`. A rejected `handle` means: hint again later. */
  consume(handle: (hint: Hint) => Promise<void>): { stop(): Promise<void> }
}
