import type { RunEvent, StoredEvent } from '../domain/events.ts'
import { isLeaders, OPEN_STATUSES } from '../domain/messages/message.ts'
import type { Message, ToolMessage, UserMessage } from '../domain/messages/message.ts'
import type { EventPosition } from '../domain/runs/event-position.ts'
import type { Run, RunNotice } from '../domain/runs/run.ts'
import { isEnded } from '../domain/runs/run.ts'
import { pausedRun } from '../domain/runs/run-changes.ts'
import {
  begunCall,
  callCompleted,
  callStarted,
  lastChange,
  messageCompleted,
  messageSteered,
  roundOfMessage,
  roundStarted,
  runEnded,
  runQueued,
  runStarted,
  withWaiting,
} from './run-events.ts'

/**
 * The functions of this module derive the events of a run from its log. The events have the ids of the live events, and are for
 * consumers that come late or are in another process. `beginningEvents` returns the events of the run's beginning. `input`: the
 * message made of the run's input.
 */
export function beginningEvents(run: Run, input: UserMessage | undefined): StoredEvent[] {
  const events: StoredEvent[] = []
  if (run.startedAt === undefined || run.startedAt > run.createdAt) events.push(runQueued(run))
  if (run.startedAt !== undefined) events.push(runStarted(run, input))
  return events
}

/** Whether the run began with this message. */
export const isInput = (run: Run, message: Message | undefined): message is UserMessage =>
  message?.role === 'user' && message.round === 0 && run.trigger === 'input'

/**
 * Returns the events of a message, which follow those of `beginningEvents`. A leader's user message must be a steered
 * input, not the run's first input. A member's task has no event.
 */
export function messageEvents(message: Message): RunEvent[] {
  if (message.role === 'user') return isLeaders(message) ? [messageSteered(message)] : []
  if (message.role === 'tool') return toolEvents(message)
  return [roundStarted(roundOfMessage(message), message.attempt), messageCompleted(message)]
}

/** Returns the index of the first notice to show to a consumer that has received everything up to the message `after`. */
export function firstPendingNotice({ notices = [] }: Run, after: string | undefined): number {
  const first = notices.findIndex((notice) => after === undefined || notice.after >= after)
  return first === -1 ? notices.length : first
}

/** Returns the position of a notice among a run's events; undefined if an older version recorded the notice. */
export function positionOfNotice(notice: RunNotice): EventPosition | undefined {
  if (notice.type !== 'run.paused' && notice.type !== 'run.resumed') return notice.position
  const { generation } = notice
  if (generation === undefined) return undefined
  return { generation, number: notice.type === 'run.paused' ? Number.POSITIVE_INFINITY : -1 }
}

/** Returns the row ids of the calls for which the run waited in the last pause of these notices. */
export function pausedCalls(notices: readonly RunNotice[]): readonly string[] {
  const pause = notices.findLast(({ type }) => type === 'run.paused')
  return pause?.type === 'run.paused' ? pause.calls : []
}

/** Whether a decision or a client, rather than the run's holder, ended this call. */
export const isResolved = ({ needs, status }: ToolMessage): boolean =>
  status === 'denied' || (needs === 'result' && (status === 'completed' || status === 'error'))

/**
 * Returns the event of the run's end, or of the pause in which it waits; undefined while the run is in progress. `waiting`: the
 * run's calls that wait for a result or a decision.
 */
export function lastEvent(run: Run, waiting: readonly ToolMessage[], isWaiting: boolean): StoredEvent | undefined {
  if (isEnded(run.status)) return runEnded(run)
  if (!isWaiting) return undefined
  // A run that paused before notices existed has no notice of the pause.
  const event = lastChange(run) ?? lastChange(pausedRun(run, waiting, undefined, undefined))
  return event && withWaiting(event, waiting)
}

function toolEvents(message: ToolMessage): StoredEvent[] {
  const started = callStarted(begunCall(message))
  return OPEN_STATUSES.includes(message.status) ? [started] : [started, callCompleted(message)]
}
