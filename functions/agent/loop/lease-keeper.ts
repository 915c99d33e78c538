import type { Lease, SessionHeader } from '../../domain/session.ts'
import { HEARTBEAT_MS, LEASE_MARGIN_MS, LEASE_MS } from '../../domain/session.ts'
import { LeaseLost } from '../../domain/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { RunLease } from '../../ports/run-lease.ts'

/** Milliseconds between two looks at the header: bounds how long a cancel goes unseen. */
const POLL_MS = 500

/** Why work under a lease must stop though the lease is still held: somebody cancelled the run. */
export class RunCancelled extends Error {
  readonly reason: 'user' | 'superseded'
  constructor(reason: 'user' | 'superseded') {
    super(reason === 'user' ? 'the run was cancelled' : 'the run was superseded by a newer input')
    this.name = 'RunCancelled'
    this.reason = reason
  }
}

export interface LeaseKeeper {
  /** Aborts with `LeaseLost` or `RunCancelled` as soon as either is known. */
  readonly signal: AbortSignal
  /** Reads the header now; rejects with the signal's reason when the work must stop. */
  poll(): Promise<SessionHeader>
  /** Throws the signal's reason when the work must stop. Knows by the clock alone when the lease's time is over. */
  check(): void
  /** Ends the heartbeats and looks. The lease itself is given back by the write that ends the work. */
  stop(): void
}

interface Dependencies {
  readonly lease: RunLease
  readonly clock: Clock
  readonly logger: Logger
}

/** Keeps a lease alive and watches for its loss and for a cancel until stopped. */
export function keepLease({ lease: leases, clock, logger }: Dependencies, lease: Lease): LeaseKeeper {
  const work = new AbortController()
  const stopped = new AbortController()
  let until = lease.until

  async function poll(): Promise<SessionHeader> {
    work.signal.throwIfAborted()
    const header = await leases.look(lease)
    if (header === undefined || header.status !== 'live' || header.generation !== lease.generation)
      work.abort(new LeaseLost(lease.session, lease.generation))
    else if (header.cancel?.run === lease.runId) work.abort(new RunCancelled(header.cancel.reason))
    work.signal.throwIfAborted()
    return header as SessionHeader
  }

  function check(): void {
    if (clock.now() > until - LEASE_MARGIN_MS) work.abort(new LeaseLost(lease.session, lease.generation))
    work.signal.throwIfAborted()
  }

  async function beat(): Promise<void> {
    const next = clock.now() + LEASE_MS
    await leases.heartbeat(lease, next)
    until = next
  }

  /** Repeats `step` until stopped. A step that fails for another reason than the lease is tried again. */
  async function every(milliseconds: number, step: () => Promise<unknown>): Promise<void> {
    while (!stopped.signal.aborted && !work.signal.aborted) {
      try {
        await clock.sleep(milliseconds, stopped.signal)
        await step()
      } catch (error) {
        if (stopped.signal.aborted || work.signal.aborted) return
        if (error instanceof LeaseLost) work.abort(error)
        else logger.warn('keeping a lease failed, trying again', { session: lease.session, error: String(error) })
      }
    }
  }

  void every(POLL_MS, poll)
  void every(HEARTBEAT_MS, beat)
  // Apart from the others, for a store that does not answer keeps them waiting.
  void every(POLL_MS, async () => check())
  return { signal: work.signal, poll, check, stop: () => stopped.abort() }
}
