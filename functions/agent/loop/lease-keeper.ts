import { LeaseLost } from '../../domain/errors.ts'
import { HEARTBEAT_MS, LEASE_MARGIN_MS, LEASE_MS } from '../../domain/session.ts'
import type { Lease, SessionHeader } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { withinTime } from '../../domain/time/time-limit.ts'

/** Milliseconds between two looks at the header: bounds how long a cancel goes unseen. */
const POLL_MS = 500

/** Milliseconds that the store has for a look or a heartbeat; it is asked again after that. */
const LEASE_CALL_MS = 5_000
/** Milliseconds beyond what it was expected to take after which work stands still. */
const STANDSTILL_MS = 30_000

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
  /** Aborts with `LeaseLost` alone: what ends a cancelled run may still be done. */
  readonly lost: AbortSignal
  /** When this process must have stopped, unless a heartbeat comes through: milliseconds since 1970. */
  until(): number
  /**
   * The work has to get on within so many milliseconds, until the returned function is called. A heartbeat attests that:
   * where the work stands still, the lease is let end, so that somebody else takes over.
   */
  expect(milliseconds: number): () => void
  /** The lease is let go because of `cause`; returns what the work must stop with. */
  giveUp(cause: unknown): LeaseLost
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
  const [work, lost, stopped] = [new AbortController(), new AbortController(), new AbortController()]
  const { expect, isStalled } = createExpectations(clock)
  let until = lease.until

  function lose(cause?: unknown): LeaseLost {
    const why = cause instanceof LeaseLost ? cause : new LeaseLost(lease.session, lease.generation, cause)
    for (const one of [work, lost]) one.abort(why)
    return why
  }

  async function poll(): Promise<SessionHeader> {
    work.signal.throwIfAborted()
    const header = await withinTime(LEASE_CALL_MS, 'the store', () => leases.readHeader(lease))
    if (header?.status !== 'live' || header.generation !== lease.generation) lose()
    else if (header.cancel?.run === lease.runId) work.abort(new RunCancelled(header.cancel.reason))
    work.signal.throwIfAborted()
    return header as SessionHeader
  }

  const endOfWork = (): number => until - LEASE_MARGIN_MS
  function check(): void {
    if (clock.now() > endOfWork()) lose()
    work.signal.throwIfAborted()
  }
  async function beat(): Promise<void> {
    if (isStalled()) throw lose(new Error('the work stands still'))
    const next = clock.now() + LEASE_MS
    await withinTime(LEASE_CALL_MS, 'the store', () => leases.heartbeat(lease, next))
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
        if (error instanceof LeaseLost) lose(error)
        else logger.warn('keeping a lease failed, trying again', { session: lease.session, error: String(error) })
      }
    }
  }

  void every(POLL_MS, poll)
  void every(HEARTBEAT_MS, beat)
  void every(POLL_MS, async () => check()) // Apart from the others, which wait for the store.
  return {
    signal: work.signal,
    lost: lost.signal,
    until: endOfWork,
    expect,
    giveUp: lose,
    poll,
    check,
    stop: () => stopped.abort(),
  }
}

/** What the work is expected to get on with, and whether it stands still instead. */
function createExpectations(clock: Clock): Pick<LeaseKeeper, 'expect'> & { isStalled(): boolean } {
  const expected = new Set<{ readonly until: number }>()
  /** When nothing was expected any more; undefined before the work has begun. */
  let idleSince: number | undefined
  return {
    expect(milliseconds) {
      const one = { until: clock.now() + milliseconds }
      expected.add(one)
      return () => {
        expected.delete(one)
        if (expected.size === 0) idleSince = clock.now()
      }
    },
    isStalled() {
      const now = clock.now()
      if (expected.size === 0) return idleSince !== undefined && now - idleSince > STANDSTILL_MS
      return expected.values().some((one) => now > one.until + STANDSTILL_MS)
    },
  }
}
