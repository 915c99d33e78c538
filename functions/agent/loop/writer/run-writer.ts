import { definedFields } from '../../../domain/defined-fields.ts'
import type { RunEvent } from '../../../domain/events.ts'
import { nextId } from '../../../domain/ids.ts'
import type { ToolMessage, UserMessage } from '../../../domain/messages/message.ts'
import type { EventPosition } from '../../../domain/runs/event-position.ts'
import type { Run } from '../../../domain/runs/run.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Lease, SessionHeader, SessionKey } from '../../../domain/session.ts'
import type { UsageAccount } from '../../../domain/usage/usage-count.ts'
import { callCompleted, callStarted, messageCompleted, messageSteered } from '../../../log/run-events.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { RunLease } from '../../../ports/run-lease.ts'
import type { Decision, Round } from '../../../ports/run-log.ts'
import { createEventSequence, positionAfter } from './event-sequence.ts'
import type { Emission } from './event-sequence.ts'
import { keepLease } from './lease-keeper.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import { createLogIds } from './log-ids.ts'
import { createResultWriter } from './result-writer.ts'
import type { CallEnd } from './result-writer.ts'
import { retryingStore } from './retrying-store.ts'
import type { LoopReads, LoopStore } from './retrying-store.ts'
import { statusWrites } from './status-writes.ts'
import type { Held, StatusWrites } from './status-writes.ts'

type Undecided<One> = One extends unknown ? Omit<One, 'after' | 'position'> : never

/** A notice before it is stored. The writer adds its place in the log. */
export type NewNotice = Undecided<Decision['notices'][number]>

/** A decision before it is stored. */
export interface NewDecision extends Omit<Decision, 'number' | 'notices' | 'context'> {
  readonly notices: readonly NewNotice[]
  /** Returns the new context. Called when all earlier decisions are stored. */
  context?(): NonNullable<Decision['context']>
}

/**
 * Stores everything that a run stores. Only the writer knows the lease. Each method that stores something resolves when the
 * write is durable and its events are emitted, and rejects with `LeaseLost` if the lease was lost. The events of all writes are
 * emitted in the order in which the writes began.
 */
export interface RunWriter extends Pick<LeaseKeeper, 'check' | 'startWatchdog' | 'stop'>, StatusWrites {
  readonly key: SessionKey
  /** Generation of the lease. */
  readonly generation: number
  /**
   * Aborts when the lease is lost, the run is cancelled, a result could not be stored, or another thread has failed.
   */
  readonly signal: AbortSignal
  /** Stops all threads with this error. */
  fail(error: unknown): void
  /** The id of the log's last message; empty if there is none. */
  head(): string
  /** Creates an id after the log's last one, for a message of a run that no other thread extends. */
  nextId(): string
  /** Reads the current header. Rejects with the signal's reason when the work must stop. */
  readHeader(): Promise<SessionHeader>
  /** Returns whether the log holds a message, also after the lease was lost. Does not retry. */
  holds(messageId: string): Promise<boolean>

  /** Stores a completion with the rows of its calls. `build` gets `count` ids in ascending order. */
  storeRound(count: number, build: BuildRound, account: UsageAccount): Promise<Round>
  /** Stores calls that are refused, with their errors. */
  storeRefused(
    count: number,
    build: (ids: readonly string[]) => readonly RefusedCall[],
  ): Promise<readonly ToolMessage[]>
  /** Stores the tasks of members. They have no events. */
  storeTasks(count: number, build: (ids: readonly string[]) => readonly UserMessage[]): Promise<readonly UserMessage[]>
  /** Starts to store the result of a call. `settled` awaits it. */
  storeResult(result: CallEnd): void
  /** Resolves when all results so far are durable; rejects with the first failure. */
  settled(): Promise<void>
  /** Marks an approved call as running. */
  beginApproved(messageId: string): Promise<ToolMessage>
  /** Closes calls of a former holder as interrupted. Returns their rows. */
  interruptCalls(messageIds: readonly string[]): Promise<readonly ToolMessage[]>
  /** Turns a queued input into a message of the run. Returns undefined if the input is no longer queued. */
  steer(queuedRunId: string): Promise<UserMessage | undefined>
  /** Stores decisions one after the other. `applied` gets the stored decision, and returns its events. */
  recordDecision(decision: NewDecision, applied: (stored: Decision) => readonly RunEvent[]): Promise<void>
}

type BuildRound = (ids: readonly string[], position: EventPosition) => Round

/** Two states of a refused call's row: the running row, and the row with its error. */
interface RefusedCall {
  readonly begun: ToolMessage
  readonly refused: ToolMessage
}

type Dependencies = LoopStore & {
  readonly lease: RunLease
  readonly clock: Clock
  readonly logger: Logger
}

/** Opens the writer and the reads of a run whose lease this process holds. Keeps the lease alive from now on. */
export function openWriter(
  ports: Dependencies,
  lease: Lease,
  run: Pick<Run, 'decisions'>,
  emit: (event: RunEvent) => void,
): { readonly writer: RunWriter; readonly reads: LoopReads } {
  const keeper = keepLease(ports, lease)
  const store = retryingStore(ports, { keeper, clock: ports.clock })
  const emitInOrder = createEventSequence(lease.generation, emit)
  const results = createResultWriter(store, lease, emitInOrder)
  const failed = new AbortController()
  const ids = createLogIds(lease.head, ports.clock)
  const held = { lease, store, emit, emitInOrder, ids, logger: ports.logger }
  const { startWatchdog, check, stop } = keeper
  const writer: RunWriter = {
    key: keyOf(lease),
    generation: lease.generation,
    signal: AbortSignal.any([keeper.signal, results.signal, failed.signal]),
    startWatchdog,
    check,
    stop,
    fail: (error) => failed.abort(error),
    head: () => ids.last() ?? '',
    nextId: () => nextId(ids.last(), ports.clock.now()),
    readHeader: () => store.readHeader(),
    holds: async (messageId) => (await store.readOnce(lease, messageId)) !== undefined,
    storeResult: results.write,
    settled: results.settled,
    recordDecision: createDecisions(held, run.decisions ?? 0),
    ...roundWrites(held),
    ...statusWrites(held),
  }
  return { writer, reads: { reader: store.reader, outputs: store.outputs, sessions: store.sessions } }
}

type RoundWrites = Pick<
  RunWriter,
  'storeRound' | 'storeRefused' | 'storeTasks' | 'beginApproved' | 'interruptCalls' | 'steer'
>

/** The writes that extend the log or change its open calls. */
function roundWrites({ lease, store: { log }, emitInOrder, ids }: Held): RoundWrites {
  const extend = <Result>(write: (position: EventPosition) => Promise<Emission<Result>>, count = 1): Promise<Result> =>
    ids.withMutex(() => emitInOrder(write, count))
  return {
    storeRound: (count, build, account) =>
      extend(async (position) => {
        const round = build(ids.reserve(count), position)
        await log.appendRound(lease, round, account)
        return { result: round, events: [messageCompleted(round.assistant), ...round.tools.map(callStarted)] }
      }),
    storeRefused: (count, build) =>
      extend(async (position) => {
        const calls = build(ids.reserve(count)).map(({ begun, refused }, place) => ({
          begun,
          refused: { ...refused, position: positionAfter(position, place) },
        }))
        const rows = calls.map(({ refused }) => refused)
        await log.append(lease, rows)
        const events = calls.flatMap(({ begun, refused }) => [callStarted(begun), callCompleted(refused)])
        return { result: rows, events }
      }, count),
    storeTasks: (count, build) =>
      ids.withMutex(async () => {
        const tasks = build(ids.reserve(count))
        await log.append(lease, tasks)
        return tasks
      }),
    beginApproved: (messageId) => log.beginApproved(lease, messageId),
    interruptCalls: (messageIds) =>
      emitInOrder(async (position) => {
        const repaired = await log.repair(lease, messageIds, position)
        return { result: repaired, events: repaired.map(callCompleted) }
      }),
    steer: (queuedRunId) =>
      extend(async (position) => {
        // The message's id must exceed the id of the input's run, even if that id was made by a clock that was ahead.
        const [id = ''] = ids.reserve(1, queuedRunId)
        const message = await log.steer(lease, queuedRunId, id, position)
        return { result: message, events: message && [messageSteered(message)] }
      }),
  }
}

/** Records decisions one after the other. `before`: the number of decisions that the run has recorded. */
function createDecisions({ lease, store, emitInOrder, ids }: Held, before: number): RunWriter['recordDecision'] {
  let number = before
  let recorded: Promise<unknown> = Promise.resolve()
  return async ({ notices: drafts, context: makeContext, ...decision }, applied) => {
    const record = (): Promise<void> =>
      emitInOrder(async (position) => {
        const after = ids.last() ?? ''
        const notices = drafts.map((notice, place) => ({ ...notice, after, position: positionAfter(position, place) }))
        const stored = { ...decision, notices, number, ...definedFields({ context: makeContext?.() }) }
        await store.log.recordDecision(lease, stored)
        number++
        return { result: undefined, events: applied(stored) }
      }, drafts.length)
    const recording = recorded.then(record)
    recorded = recording.catch(() => undefined)
    await recording
  }
}
