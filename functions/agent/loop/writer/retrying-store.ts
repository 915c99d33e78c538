import { LeaseLost, TooltrailError } from '../../../domain/errors.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { SessionHeader, SessionKey } from '../../../domain/session.ts'
import { raceAbort, withinTime } from '../../../domain/time/time-limit.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { OutputStore } from '../../../ports/output-store.ts'
import type { RunLease } from '../../../ports/run-lease.ts'
import type { RunLog } from '../../../ports/run-log.ts'
import type { SessionStore } from '../../../ports/session-store.ts'
import type { LeaseKeeper } from './lease-keeper.ts'

/** Timeouts of one attempt, including the response body; then the operation is retried. */
const READ_MS = 10_000
const WRITE_MS = 10_000
const OBJECT_MS = 10_000
/** Timeout of a read without a lease. It limits how long the end of a run waits. */
const READ_ONCE_MS = 2_000
const FIRST_WAIT_MS = 50
const MAX_WAIT_MS = 2_000

/** The reads that a run may make while this process holds its lease, and the store of its outputs. */
export interface LoopReads {
  readonly reader: Pick<LogReader, 'messages' | 'context' | 'sources' | 'message' | 'run' | 'steering'>
  readonly outputs: Pick<OutputStore, 'put' | 'read'>
  readonly sessions: Pick<SessionStore, 'read'>
}

/** The parts of the store that a holder uses. */
export interface LoopStore extends LoopReads {
  readonly log: RunLog
  readonly lease: Pick<RunLease, 'release'>
}

export interface RetryingStore extends LoopStore {
  /** Reads the current header. Rejects with the signal's reason when the work must stop. */
  readHeader(): Promise<SessionHeader>
  /** Reads a message, also after the lease was released or lost. Does not retry. */
  readOnce(key: SessionKey, messageId: string): Promise<Message | undefined>
}

interface Dependencies {
  readonly keeper: Pick<LeaseKeeper, 'signal' | 'lost' | 'until' | 'startWatchdog' | 'giveUp' | 'poll'>
  readonly clock: Clock
}

/**
 * The store as a holder uses it: an operation that fails temporarily or hangs is retried until it succeeds or the lease
 * expires. All operations are safe to repeat. An attempt that succeeds late counts as well. If the lease expires first,
 * the outcome is unknown: the lease is released (`LeaseLost`), and the next holder reads the log. Permanent errors are
 * passed on at once.
 */
export function retryingStore(
  { log, reader, outputs, sessions, lease: leases }: LoopStore,
  dependencies: Dependencies,
): RetryingStore {
  const { keeper } = dependencies
  const read = <Result>(timeoutMs: number, operation: () => Promise<Result>): Promise<Result> =>
    retry(operation, dependencies, { timeoutMs, signal: keeper.signal, isForGood })
  // A cancel does not interrupt a write in flight, so that the produced content is kept.
  const write = <Result>(timeoutMs: number, operation: () => Promise<Result>): Promise<Result> =>
    retry(operation, dependencies, { timeoutMs, signal: keeper.lost, isForGood })
  // The call has already run. So if the store refuses the result, the write is retried until the lease expires.
  const writeResult = <Result>(timeoutMs: number, operation: () => Promise<Result>): Promise<Result> =>
    retry(operation, dependencies, { timeoutMs, signal: keeper.lost, isForGood: isLost })
  return {
    log: {
      appendRound: (lease, round, account) => write(WRITE_MS, () => log.appendRound(lease, round, account)),
      append: (lease, messages) => write(WRITE_MS, () => log.append(lease, messages)),
      completeCall: (lease, result) => writeResult(WRITE_MS, () => log.completeCall(lease, result)),
      beginApproved: (lease, id) => write(WRITE_MS, () => log.beginApproved(lease, id)),
      repair: (lease, ids, position) => write(WRITE_MS, () => log.repair(lease, ids, position)),
      steer: (lease, run, id, position) => write(WRITE_MS, () => log.steer(lease, run, id, position)),
      recordDecision: (lease, decision) => write(WRITE_MS, () => log.recordDecision(lease, decision)),
      pause: (lease) => write(WRITE_MS, () => log.pause(lease)),
      endRun: (lease, end, account) => write(WRITE_MS, () => log.endRun(lease, end, account)),
    },
    lease: { release: (lease) => write(WRITE_MS, () => leases.release(lease)) },
    reader: {
      messages: (key, query) => read(READ_MS, () => reader.messages(key, query)),
      context: (key) => read(READ_MS, () => reader.context(key)),
      sources: (key, query) => read(READ_MS, () => reader.sources(key, query)),
      message: (key, id) => read(READ_MS, () => reader.message(key, id)),
      run: (key, id) => read(READ_MS, () => reader.run(key, id)),
      steering: (key, limit) => read(READ_MS, () => reader.steering(key, limit)),
    },
    outputs: {
      put: (key, name, bytes, mediaType) => write(OBJECT_MS, () => outputs.put(key, name, bytes, mediaType)),
      read: (key, name, range) => read(OBJECT_MS, () => outputs.read(key, name, range)),
    },
    sessions: { read: (key) => read(READ_MS, () => sessions.read(key)) },
    readHeader: () => read(READ_MS, () => keeper.poll()),
    readOnce: (key, messageId) => withinTime(READ_ONCE_MS, 'the store', () => reader.message(key, messageId)),
  }
}

const isLost = (error: unknown): boolean => error instanceof LeaseLost

const isForGood = (error: unknown): boolean => error instanceof TooltrailError && !error.retryable

interface Limits {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Whether an error ends the attempts. */
  readonly isForGood: (error: unknown) => boolean
}

/** Retries an operation until it succeeds, fails for good, or the lease expires. */
async function retry<Result>(
  operation: () => Promise<Result>,
  { keeper, clock }: Dependencies,
  { timeoutMs, signal, isForGood: ends }: Limits,
): Promise<Result> {
  let until = Infinity
  const attempt = repeated(operation)
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
    const done = keeper.startWatchdog(timeoutMs)
    try {
      return await raceAbort(withinTime(timeoutMs, 'the store', attempt), signal)
    } catch (error) {
      signal.throwIfAborted()
      if (ends(error)) throw error
      until = Math.min(until, keeper.until())
      if (clock.now() + wait >= until) throw keeper.giveUp(error)
    } finally {
      done()
    }
    await clock.sleep(wait, signal)
  }
}

/**
 * Makes an operation that resolves with its first successful attempt, even if that attempt had timed out. A timed-out
 * attempt may only have waited in the store's queue. If only the newest attempt counted, each one would start again at
 * the end of the queue.
 */
function repeated<Result>(operation: () => Promise<Result>): () => Promise<Result> {
  const { promise, resolve } = Promise.withResolvers<Result>()
  let hasSucceeded = false
  const begin = async (): Promise<Result> => {
    const result = await operation()
    hasSucceeded = true
    resolve(result)
    return result
  }
  return () => (hasSucceeded ? promise : Promise.race([begin(), promise]))
}
