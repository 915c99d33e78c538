import type { RunEvent, StoredEvent } from '../domain/events.ts'
import { isLeaders, OPEN_STATUSES } from '../domain/messages/message.ts'
import type { Message, ToolMessage, UserMessage } from '../domain/messages/message.ts'
import type { Run, RunNotice } from '../domain/runs/run.ts'
import { isEnded } from '../domain/runs/run.ts'
import { pausedRun } from '../domain/runs/run-changes.ts'
import { NO_USAGE } from '../domain/usage/usage.ts'
import {
  begunCall,
  callCompleted,
  callStarted,
  lastChange,
  messageCompleted,
  messageSteered,
  noticeEvents,
  roundOfMessage,
  roundStarted,
  runEnded,
  runQueued,
  runStarted,
  withWaiting,
} from './run-events.ts'

/**
 * The events of a run, derived from its log, with the same ids as live: what a consumer gets that comes late or watches from
 * another process. First, how the run began; `input`: its message.
 */
export function beginningEvents(run: Run, input: UserMessage | undefined): StoredEvent[] {
  const events: StoredEvent[] = []
  if (run.startedAt === undefined ? run.status === 'queued' : run.startedAt > run.createdAt)
    events.push(runQueued(asBegun(run, 'queued')))
  if (run.startedAt !== undefined) events.push(runStarted(asBegun(run, 'running'), input))
  return events
}

/** Whether its run began with this message. */
export const isInput = (run: Run, message: Message | undefined): message is UserMessage =>
  message?.role === 'user' && message.round === 0 && run.trigger === 'input'

/**
 * Then the events of each of its messages. A user's message that is not its input was steered into it; there is none of a member's
 * task.
 */
export function messageEvents(message: Message): RunEvent[] {
  if (message.role === 'user') return isLeaders(message) ? [messageSteered(message)] : []
  if (message.role === 'tool') return toolEvents(message)
  return [roundStarted(roundOfMessage(message)), messageCompleted(message)]
}

/** What a run's followers are still to be told beside its messages. */
export interface Telling {
  /** The notices that came before this message, or the rest, with their events; each once. */
  next(before?: string): readonly Told[]
  /** Whether a pause that is still to be told waited for this call. */
  waitsFor(call: Message): boolean
  /** How many have been told, or were left out. */
  readonly told: number
}
interface Told {
  readonly notice: RunNotice
  readonly event: StoredEvent
}

/** The first notice for a consumer that has had what came up to the message `after`. */
export function firstToTell({ notices = [] }: Run, after: string | undefined): number {
  const first = notices.findIndex((notice) => after === undefined || notice.after >= after)
  return first === -1 ? notices.length : first
}

/**
 * Between them its notices, from this one on: each before the completion that came after it. `isWaiting`: its last pause goes
 * on, and is its last event.
 */
export function tellNotices(run: Run, from: number, isWaiting: boolean): Telling {
  const { notices = [] } = run
  const events = noticeEvents(run, notices)
  const end = isWaiting && notices.at(-1)?.type === 'run.paused' ? notices.length - 1 : notices.length
  let told = from
  return {
    next(before) {
      const first = told
      while (told < end && (before === undefined || (notices[told]?.after ?? '') < before)) told++
      return notices.slice(first, told).flatMap((notice, place) => {
        const event = events[first + place]
        return event === undefined ? [] : [{ notice, event }]
      })
    },
    waitsFor: ({ id }) => notices.slice(told, end).some((one) => one.type === 'run.paused' && one.calls.includes(id)),
    get told() {
      return told
    },
  }
}

/** Whether somebody else has ended this call, and not the run's holder. */
export const isResolved = ({ needs, status }: ToolMessage): boolean =>
  status === 'denied' || (needs === 'result' && (status === 'completed' || status === 'error'))

/** Last, how it ended or what it waits for; nothing while it goes on. `waiting`: its calls that wait for somebody else. */
export function lastEvent(run: Run, waiting: readonly ToolMessage[], isWaiting: boolean): StoredEvent | undefined {
  if (isEnded(run.status)) return runEnded(run)
  if (!isWaiting) return undefined
  // A run that paused before pauses were recorded tells of none.
  const event = lastChange(run) ?? lastChange(pausedRun(run, waiting, undefined))
  return event && withWaiting(event, waiting)
}

/** The run as it was when it began. */
function asBegun(run: Run, status: 'queued' | 'running'): Run {
  const { startedAt, endedAt: _endedAt, stopReason: _stopReason, error: _error, notices: _notices, ...begun } = run
  const time = status === 'running' && startedAt !== undefined ? { startedAt } : {}
  return { ...begun, ...time, status, rounds: 0, usage: NO_USAGE, usageByAgent: {} }
}

function toolEvents(message: ToolMessage): StoredEvent[] {
  const started = callStarted(begunCall(message))
  return OPEN_STATUSES.includes(message.status) ? [started] : [started, callCompleted(message)]
}
