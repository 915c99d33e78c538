import { definedFields } from '../../../domain/defined-fields.ts'
import type { RunEvent } from '../../../domain/events.ts'
import type { AssistantMessage, ToolMessage } from '../../../domain/messages/message.ts'
import type { RunEnd } from '../../../domain/runs/run-changes.ts'
import type { Run } from '../../../domain/runs/run.ts'
import type { Lease } from '../../../domain/session.ts'
import type { UsageAccount } from '../../../domain/usage/usage-count.ts'
import {
  callCompleted,
  lastChange,
  messageCompleted,
  noticeEvents,
  runEnded,
  withWaiting,
} from '../../../log/run-events.ts'
import { isResolved, pausedCalls } from '../../../log/stored-events.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { EmitInOrder } from './event-sequence.ts'
import type { LogIds } from './log-ids.ts'
import type { RetryingStore } from './retrying-store.ts'

/** The ended run, and its last ended calls. The end of the run closed these calls, or clients resolved them. */
export interface StoredEnd {
  readonly run: Run
  readonly calls: readonly ToolMessage[]
}

/** The methods of a `RunWriter` that emit or store changes of the run's status. */
export interface StatusWrites {
  /**
   * Emits the event of a run's resumption. If the run resumes after a pause and `readsCalls` is set, first emits the ends of the
   * calls that clients resolved during the pause.
   */
  emitResumption(run: Run, readsCalls: boolean): Promise<void>
  /** Pauses the run and releases the lease. Returns false if no call waits any longer. */
  pause(waiting: readonly ToolMessage[]): Promise<boolean>
  /**
   * Ends the run and releases the lease. If a cancel was stored first and `end` has another outcome, stores nothing and returns
   * undefined. `unemitted`: the calls whose ends this holder has not emitted. Clients may have resolved some of them.
   */
  endRun(end: RunEnd, unemitted: readonly ToolMessage[], account: UsageAccount): Promise<StoredEnd | undefined>
  /** Releases the lease with the run still active. */
  release(): Promise<void>
}

/** The parts that the methods of one writer share. */
export interface Held {
  readonly lease: Lease
  readonly store: RetryingStore
  readonly emit: (event: RunEvent) => void
  readonly emitInOrder: EmitInOrder
  readonly ids: LogIds
  readonly logger: Logger
}

/** Creates the methods that emit or store changes of a run's status. */
export function statusWrites(held: Held): StatusWrites {
  const { lease, store, emit, emitInOrder } = held
  const { log } = store
  return {
    async emitResumption(run, readsCalls) {
      for (const call of readsCalls ? await callsResolvedInPause(held, run) : []) emit(callCompleted(call))
      const resumed = lastChange(run)
      if (resumed !== undefined) emit(resumed)
    },
    async pause(waiting) {
      const run = await log.pause(lease)
      if (run === undefined) {
        await store.readHeader()
        return false
      }
      const paused = lastChange(run)
      if (paused !== undefined) emit(withWaiting(paused, waiting))
      return true
    },
    endRun: (end, unemitted, account) =>
      emitInOrder(async (position) => {
        const message: AssistantMessage | undefined = end.message && { ...end.message, position }
        const stored = { ...end, ...definedFields({ message }) }
        const ended = await log.endRun(lease, stored, account)
        if (ended === undefined) return { result: undefined, events: undefined }
        const { run, closed } = ended
        const calls = await lastCalls(held, unemitted, closed)
        if (calls === undefined) return { result: { run, calls: closed }, events: [runEnded(run)] }
        return { result: { run, calls }, events: eventsOfEnd({ run, calls }, stored) }
      }),
    release: () => store.lease.release(lease),
  }
}

/** Returns the calls that clients resolved during the pause after which the run resumes, in log order. */
async function callsResolvedInPause(held: Held, { notices = [] }: Run): Promise<readonly ToolMessage[]> {
  const changes = notices.filter(({ type }) => type === 'run.paused' || type === 'run.resumed')
  // Only the holder that stored the resumption emits these ends. If it crashed before, followers read them from the log.
  const [pause, resumption] = changes.slice(-2)
  const isOurs = resumption?.type === 'run.resumed' && resumption.generation === held.lease.generation
  if (pause?.type !== 'run.paused' || !isOurs) return []
  return ((await readCalls(held, pausedCalls(changes))) ?? []).filter(isResolved)
}

/**
 * Returns the last calls of an ended run, in log order. Reads those of `unemitted` that the end of the run has not closed, because
 * clients have resolved them. Returns undefined if they cannot be read.
 */
async function lastCalls(
  held: Held,
  unemitted: readonly ToolMessage[],
  closed: readonly ToolMessage[],
): Promise<readonly ToolMessage[] | undefined> {
  const resolved = unemitted.filter(({ id }) => !closed.some((call) => call.id === id))
  const read = await readCalls(
    held,
    resolved.map(({ id }) => id),
  )
  return read && [...closed, ...read].toSorted((left, right) => (left.id < right.id ? -1 : 1))
}

/** Reads calls that clients have resolved. Returns undefined if they cannot be read: followers then read them from the log. */
async function readCalls(
  { lease, store, logger }: Held,
  ids: readonly string[],
): Promise<readonly ToolMessage[] | undefined> {
  try {
    const read = await Promise.all(ids.map((id) => store.readOnce(lease, id)))
    return read.filter((message) => message?.role === 'tool')
  } catch (error) {
    logger.warn('calls that clients have resolved were not read', { session: lease.session, error: String(error) })
    return undefined
  }
}

/** The events of the end of a run, in the order in which the log has them. */
function eventsOfEnd({ run, calls }: StoredEnd, { message, notices: last = [] }: RunEnd): RunEvent[] {
  const { notices = [] } = run
  const warnings = noticeEvents(run, notices).slice(notices.length - last.length)
  return [
    ...calls.map(callCompleted),
    ...(message === undefined ? [] : [messageCompleted(message)]),
    ...warnings.filter((event) => event !== undefined),
    runEnded(run),
  ]
}
