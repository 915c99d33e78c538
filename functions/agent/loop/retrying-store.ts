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

/** Milliseconds that a store has for one attempt, body included. It is asked again after that. */
const ATTEMPT_MS = 10_000
const FIRST_WAIT_MS = 50
const MAX_WAIT_MS = 2_000

/** What a loop needs of the store, for as long as it holds its lease. */
export interface LoopStore {
  readonly log: RunLog
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly sessions: Pick<SessionStore, 'read'>
  readonly lease: Pick<RunLease, 'release'>
}

export interface RetryingStore extends LoopStore {
  /** The header as it is now; rejects with the reason when the work must stop. */
  readHeader(): Promise<SessionHeader>
  /** Whether the log holds a message, also after the lease was lost. It is asked once. */
  holds(key: SessionKey, messageId: string): Promise<boolean>
}

interface Dependencies {
  readonly keeper: Pick<LeaseKeeper, 'signal' | 'lost' | 'until' | 'expect' | 'giveUp' | 'poll'>
  readonly clock: Clock
}

/**
 * The store as a holder uses it: an operation that fails for a while, or does not come back, is repeated until it has come
 * through or the lease ends. All of them are safe to repeat. An attempt that comes back late counts, too. If the lease ends first,
 * the outcome is unknown: the lease is released (`LeaseLost`), and the next holder reads the log. Errors that are for good come
 * through at once.
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
    // A cancel waits for a write that is under way, so that what was produced is kept.
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
    const met = keeper.expect(ATTEMPT_MS)
    try {
      return await raceAbort(withinTime(ATTEMPT_MS, 'the store', attempt), signal)
    } catch (error) {
      signal.throwIfAborted()
      if (ends(error)) throw error
      until = Math.min(until, keeper.until())
      if (clock.now() + wait >= until) throw keeper.giveUp(error)
    } finally {
      met()
    }
    await clock.sleep(wait, signal)
  }
}

/**
 * An operation whose attempts all count: an attempt that was given up as too late, because the store has a queue, may still succeed.
 * Without that, each attempt would begin at the end of the queue.
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
  /** Aborts as soon as a write has failed: then nothing that builds on the results may be stored. */
  readonly signal: AbortSignal
  /** Begins to store a call's result (its object first); the model may meanwhile be asked with it. */
  write(result: {
    readonly row: ToolMessage
    readonly status: 'completed' | 'error'
    readonly content: FittedContent
    readonly completedAt: number
    readonly durationMs: number
    readonly searched?: true
  }): void
  /** Resolves when every write so far is durable; rejects with the first failure. */
  settled(): Promise<void>
}

/** Stores tool results beside the loop, each as soon as its tool has ended; `tool_call.completed` follows its write. */
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
      // Threads wait for one another's results; what was begun meanwhile is for the next to wait for.
      void storing.then(() => pending.delete(storing))
    },
    async settled() {
      await Promise.all(pending)
      failed.signal.throwIfAborted()
    },
  }
}
