import { definedFields } from '../../domain/defined-fields.ts'
import { LeaseLost, TooltrailError } from '../../domain/errors.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import type { Lease, SessionHeader, SessionKey } from '../../domain/session.ts'
import type { FittedContent } from '../../log/fit-content.ts'
import { callCompleted } from '../../log/run-events.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import type { RunLog } from '../../ports/run-log.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { raceAbort, withinTime } from '../../domain/time/time-limit.ts'
import type { EmitInOrder } from './event-sequence.ts'
import type { LeaseKeeper } from './lease-keeper.ts'

/** Timeout of one attempt of the store, including the response body; then the operation is retried. */
const ATTEMPT_MS = 10_000
const FIRST_WAIT_MS = 50
const MAX_WAIT_MS = 2_000

/** The parts of the store that a loop uses while it holds its lease. */
export interface LoopStore {
  readonly log: RunLog
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly sessions: Pick<SessionStore, 'read'>
  readonly lease: Pick<RunLease, 'release'>
}

export interface RetryingStore extends LoopStore {
  /** Reads the current header. Rejects with the signal's reason when the work must stop. */
  readHeader(): Promise<SessionHeader>
  /** Returns whether the log holds a message, also after the lease was lost. Does not retry. */
  holds(key: SessionKey, messageId: string): Promise<boolean>
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
export function retryingStore(store: LoopStore, dependencies: Dependencies): RetryingStore {
  const { keeper } = dependencies
  const retry = <Result>(signal: AbortSignal, operation: () => Promise<Result>): Promise<Result> =>
    retryOn(operation, dependencies, { signal, isForGood })
  const retrying = <Port extends object>(port: Port, signal: AbortSignal): Port =>
    new Proxy(port, {
      get: (target, name): unknown => {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => retry(signal, () => Reflect.apply(method, target, args) as Promise<unknown>)
      },
    })
  return {
    // A cancel does not interrupt a write in flight, so that the produced content is kept.
    log: {
      ...retrying(store.log, keeper.lost),
      completeCall: (lease, result) =>
        retryOn(() => store.log.completeCall(lease, result), dependencies, { signal: keeper.lost, isForGood: isLost }),
    },
    reader: retrying(store.reader, keeper.signal),
    outputs: {
      ...retrying(store.outputs, keeper.signal),
      put: (key, name, bytes, mediaType) => retry(keeper.lost, () => store.outputs.put(key, name, bytes, mediaType)),
    },
    sessions: { read: (key) => retry(keeper.signal, () => store.sessions.read(key)) },
    lease: { release: (lease) => retry(keeper.lost, () => store.lease.release(lease)) },
    readHeader: () => retry(keeper.signal, () => keeper.poll()),
    holds: async (key, messageId) => (await store.reader.message(key, messageId)) !== undefined,
  }
}

const isLost = (error: unknown): boolean => error instanceof LeaseLost

const isForGood = (error: unknown): boolean => error instanceof TooltrailError && !error.retryable

async function retryOn<Result>(
  operation: () => Promise<Result>,
  { keeper, clock }: Dependencies,
  { signal, isForGood: ends }: { readonly signal: AbortSignal; readonly isForGood: (error: unknown) => boolean },
): Promise<Result> {
  let until = Infinity
  const attempt = repeated(operation)
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
    const done = keeper.startWatchdog(ATTEMPT_MS)
    try {
      return await raceAbort(withinTime(ATTEMPT_MS, 'the store', attempt), signal)
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

export interface ResultWriter {
  /** Aborts when a write fails: then nothing that builds on the results may be stored. */
  readonly signal: AbortSignal
  /**
   * Starts to store a call's result: first its object, if it has one, then its row. A request to the model may contain the result
   * before it is stored.
   */
  write(result: {
    readonly row: ToolMessage
    readonly status: 'completed' | 'error'
    readonly content: FittedContent
    readonly completedAt: number
    readonly durationMs: number
    readonly searched?: true
  }): void
  /** Resolves when all writes so far are durable; rejects with the first failure. */
  settled(): Promise<void>
}

/**
 * Stores tool results concurrently with the loop, each as soon as its tool ends. `tool_call.completed` is emitted after
 * the write.
 */
export function createResultWriter(
  { log, outputs }: Pick<LoopStore, 'log' | 'outputs'>,
  lease: Lease,
  emitInOrder: EmitInOrder,
): ResultWriter {
  const failed = new AbortController()
  const pending = new Set<Promise<void>>()

  async function store(result: Parameters<ResultWriter['write']>[0]): Promise<void> {
    const { row, content } = result
    for (const { name, bytes, mediaType } of content.objects) await outputs.put(lease, name, bytes, mediaType)
    await emitInOrder(async (position) => {
      const message = await log.completeCall(lease, {
        messageId: row.id,
        status: result.status,
        parts: content.parts,
        output: content.output,
        ...definedFields({ sources: content.sources, searched: result.searched }),
        completedAt: result.completedAt,
        durationMs: result.durationMs,
        position,
      })
      return { result: undefined, events: [callCompleted(message)] }
    })
  }

  return {
    signal: failed.signal,
    write(result) {
      const storing = store(result).catch((error: unknown) => failed.abort(error))
      pending.add(storing)
      // Threads wait for each other's results. A write that starts during the wait is awaited by the next call of
      // `settled`.
      void storing.then(() => pending.delete(storing))
    },
    async settled() {
      await Promise.all(pending)
      failed.signal.throwIfAborted()
    },
  }
}
