import type { SessionKey } from '../domain/session.ts'

/**
 * Hints that a session may have work. Lost, doubled, late and reordered hints change nothing: exclusivity is the lease,
 * order is the header's, and the sweeper finds what was lost.
 */
export interface RunQueue {
  /** Never rejects for a full or absent consumer; rejects when the hint could not be handed over. */
  send(hint: SessionKey): Promise<void>
  /** Calls `handle` for each hint until `stop`. A rejected `handle` means: hint again later. */
  consume(handle: (hint: SessionKey) => Promise<void>): { stop(): Promise<void> }
}
