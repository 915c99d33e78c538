import { LeaseLost } from '../../../domain/errors.ts'
import { HEARTBEAT_MS, LEASE_MARGIN_MS, LEASE_MS } from '../../../domain/session.ts'
import type { Lease, SessionHeader } from '../../../domain/session.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { RunLease } from '../../../ports/run-lease.ts'
import { STOPPED, withinTime } from '../../../domain/time/time-limit.ts'

/** Interval between two reads of the header, in milliseconds. Limits the time until a cancel is noticed. */
const POLL_MS = 500

/** Timeout of one header read or heartbeat; then the call is retried. */
const LEASE_CALL_MS = 5_000
/** Grace period in milliseconds after which overdue work counts as stalled. */
const STANDSTILL_MS = 30_000

/** Why work must stop although the lease is still held: the run was cancelled or superseded. */
export class RunCancelled extends Error {
  readonly reason: 'user' | 'superseded'
  constructor(reason: 'user' | 'superseded') {
    super(reason === 'user' ? 'the run was cancelled' : 'the run was superseded by a newer input')
    this.name = 'RunCancelled'
    this.reason = reason
  }
}

export interface LeaseKeeper {
  /** Aborts with `LeaseLost` or `RunCancelled`, as soon as the keeper detects the loss or the cancel. */
  readonly signal: AbortSignal
  /** Aborts only with `LeaseLost`, so that the writes that end a cancelled run can still be made. */
  readonly lost: AbortSignal
  /** The deadline for this process to stop unless a heartbeat succeeds, in milliseconds since 1970. */
  until(): number
  /**
   * Starts a watchdog: unless the returned function is called within `milliseconds`, the work counts as stalled.
   * Stalled work gets no more heartbeats: its lease expires, and another process takes over.
   */
  startWatchdog(milliseconds: number): () => void
  /** Gives the lease up because of `cause`. Returns the error that the work must stop with. */
  giveUp(cause: unknown): LeaseLost
  /** Reads the header now; rejects with the signal's reason when the work must stop. */
  poll(): Promise<SessionHeader>
  /** Throws the signal's reason when the work must stop. Detects an expired lease by the clock, without the store. */
  check(): void
  /** Ends the heartbeats and the polling. The lease itself is released by the write that ends the work. */
  stop(): void
}

interface Dependencies {
  readonly lease: RunLease
  readonly clock: Clock
  readonly logger: Logger
}

/** Keeps a lease alive, and watches for its loss and for a cancel, until `stop` is called. */
export function keepLease({ lease: leases, clock, logger }: Dependencies, lease: Lease): LeaseKeeper {
  const [work, lost, stopped] = [new AbortController(), new AbortController(), new AbortController()]
  const { startWatchdog, isStalled } = createWatchdogs(clock)
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
    check() // The lease of a suspended process may have expired. A heartbeat would then delay the next holder.
    if (isStalled()) throw lose(new Error('the work is stalled'))
    const next = clock.now() + LEASE_MS
    await withinTime(LEASE_CALL_MS, 'the store', () => leases.heartbeat(lease, next))
    until = next
  }

  /** Repeats `step` until stopped. A failed step is retried unless the lease was lost. */
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
  void every(POLL_MS, async () => check()) // This check has a separate timer, because polls and heartbeats wait for the store.
  return {
    signal: work.signal,
    lost: lost.signal,
    until: endOfWork,
    startWatchdog,
    giveUp: lose,
    poll,
    check,
    stop: () => stopped.abort(STOPPED),
  }
}

/** Tracks the running watchdogs, and whether the work is stalled. */
function createWatchdogs(clock: Clock): Pick<LeaseKeeper, 'startWatchdog'> & { isStalled(): boolean } {
  const running = new Set<{ readonly until: number }>()
  /** The time at which the last watchdog ended; undefined before the first watchdog has started. */
  let idleSince: number | undefined
  return {
    startWatchdog(milliseconds) {
      const one = { until: clock.now() + milliseconds }
      running.add(one)
      return () => {
        running.delete(one)
        if (running.size === 0) idleSince = clock.now()
      }
    },
    isStalled() {
      const now = clock.now()
      if (running.size === 0) return idleSince !== undefined && now - idleSince > STANDSTILL_MS
      return running.values().some((one) => now > one.until + STANDSTILL_MS)
    },
  }
}
