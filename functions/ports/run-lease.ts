import type { Run } from '../domain/runs/run.ts'
import type { ToolMessage, UserMessage } from '../domain/messages/message.ts'
import type { Lease, SessionHeader, SessionKey } from '../domain/session.ts'

export interface Started {
  readonly lease: Lease
  readonly run: Run
  /** The run's input, now a message; absent on a run that continues without one. */
  readonly message?: UserMessage
}

/**
 * Taking, keeping and giving back the right to extend a session's log. Every write is conditional; a refused one
 * returns undefined (another process was first: look again) or rejects with `LeaseLost` (keeping and giving back).
 */
export interface RunLease {
  /** The header, read strongly. Undefined if the session never existed or its rows are gone. */
  readHeader(key: SessionKey): Promise<SessionHeader | undefined>
  /** The header as it was some moments ago, at a part of the cost: for who only watches, and decides nothing by it. */
  readHeaderEventually(key: SessionKey): Promise<SessionHeader | undefined>
  /**
   * Starts the lowest queued run if the session is free, has no active run and is still at `seen`'s generation. The
   * input becomes a message whose id is greater than the log's last.
   */
  start(seen: SessionHeader, owner: string): Promise<Started | undefined>
  /**
   * Takes the active run: after a crash, after its last resolution or a hand-over, or to cancel it. Only if the session
   * is free, not blocked, and still at `seen`'s generation. Counts a takeover only if a lease was present. The caller
   * must claim next, before it reads the log.
   */
  take(seen: SessionHeader, owner: string): Promise<Lease | undefined>
  /**
   * Lets only this holder end the `running` calls of its run: raises the generation of each older row. Returns the
   * lease with the log's head and the run's open calls, both read strongly after the claim.
   */
  claim(lease: Lease): Promise<{ lease: Lease; header: SessionHeader; open: readonly ToolMessage[] }>
  /** Moves the lease's end to `until` (never back). Rejects with `LeaseLost`. */
  heartbeat(lease: Lease, until: number): Promise<void>
  /** Gives the lease back with the run still active and due (hand-over); no call may be open. Rejects with `LeaseLost`. */
  release(lease: Lease): Promise<void>
}
