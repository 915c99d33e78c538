import type { Run } from '../domain/runs/run.ts'
import type { ToolMessage, UserMessage } from '../domain/messages/message.ts'
import type { Lease, SessionHeader, SessionKey } from '../domain/session.ts'

export interface Started {
  readonly lease: Lease
  readonly run: Run
  /** The run's input, now a message; absent if the run continues without one. */
  readonly message?: UserMessage
}

/**
 * Acquires, keeps and releases the lease, which is the right to extend a session's log. Every write is conditional.
 * When another process was first, acquiring returns undefined (read the header again), and keeping or releasing rejects
 * with `LeaseLost`.
 */
export interface RunLease {
  /** Reads the header with strong consistency; undefined if the session never existed or its rows are gone. */
  readHeader(key: SessionKey): Promise<SessionHeader | undefined>
  /** Reads the header with eventual consistency, at a lower cost. Only for observers that decide nothing by it. */
  readHeaderEventually(key: SessionKey): Promise<SessionHeader | undefined>
  /**
   * Starts the first queued run if the session is free, has no active run and is still at `seen`'s generation. The
   * input becomes a message whose id is greater than the log's last.
   */
  start(seen: SessionHeader, owner: string): Promise<Started | undefined>
  /**
   * Acquires the lease of the active run: after a crash, after its last resolution or a hand-off, or to cancel it.
   * Succeeds only if the session is free, not blocked, and still at `seen`'s generation. Counts a takeover only if a
   * lease was present. The caller must call `claim` before it reads the log.
   */
  take(seen: SessionHeader, owner: string): Promise<Lease | undefined>
  /**
   * Claims the `running` calls of the run, so that only this holder can end them: raises the generation of each older
   * row. Returns the lease with the log's head and the run's open calls, both read with strong consistency after the
   * claim.
   */
  claim(lease: Lease): Promise<{ lease: Lease; header: SessionHeader; open: readonly ToolMessage[] }>
  /** Moves the lease's expiry to `until`, never backwards. Rejects with `LeaseLost`. */
  heartbeat(lease: Lease, until: number): Promise<void>
  /** Releases the lease with the run still active and due (hand-off); no call may be open. Rejects with `LeaseLost`. */
  release(lease: Lease): Promise<void>
}
