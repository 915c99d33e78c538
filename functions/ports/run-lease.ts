import type { Run } from '../domain/runs/run.ts'
import type { ToolMessage, UserMessage } from '../domain/messages/message.ts'
import type { Lease, SessionHeader, SessionKey } from '../domain/session.ts'

export interface Started {
  readonly lease: Lease
  readonly run: Run
  /** The message made of the run's input. Absent if the run continues without an input. */
  readonly message?: UserMessage
}

/**
 * Acquires, keeps and releases the lease, which is the right to extend a session's log. Every write is conditional. If another
 * process has written first, an attempt to acquire the lease returns undefined: read the header again. An attempt to keep or
 * release the lease rejects with `LeaseLost`. If an owner repeats an operation, both attempts have the result of the first
 * one, whichever of them reaches the store first (`test/contracts/late-landing.ts`).
 */
export interface RunLease {
  /** Reads the header with strong consistency; undefined if the session never existed or its rows are gone. */
  readHeader(key: SessionKey): Promise<SessionHeader | undefined>
  /**
   * Reads the header with eventual consistency, at a lower cost. Only for observers: the header must not be used for decisions.
   */
  readHeaderEventually(key: SessionKey): Promise<SessionHeader | undefined>
  /**
   * Starts the first queued run. Succeeds only if the session is free, has no active run, and still has the generation of `seen`.
   * The input becomes a message whose id is greater than the last id of the log.
   */
  start(seen: SessionHeader, owner: string): Promise<Started | undefined>
  /**
   * Acquires the lease of the active run after a crash, a hand-off or the last resolution, or to cancel the run. Succeeds only if
   * the session is free, not blocked, and still has the generation of `seen`. Counts a takeover only if the former holder has not
   * released its lease. The caller must call `claim` before it reads the log.
   */
  take(seen: SessionHeader, owner: string): Promise<Lease | undefined>
  /**
   * Claims the `running` calls of the run, so that only this holder can end them. To do so, raises the generation of each row
   * that has an older one. Returns the lease, the header with the log's head, and the run's open calls. The header and the calls
   * are read with strong consistency after the claim.
   */
  claim(lease: Lease): Promise<{ lease: Lease; header: SessionHeader; open: readonly ToolMessage[] }>
  /** Moves the lease's expiry to `until`, never backwards. Rejects with `LeaseLost`. */
  heartbeat(lease: Lease, until: number): Promise<void>
  /** Releases the lease for a hand-off: the run stays active and due. No call may be open. Rejects with `LeaseLost`. */
  release(lease: Lease): Promise<void>
}
