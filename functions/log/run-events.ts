import { definedFields } from '../domain/defined-fields.ts'
import { eventId } from '../domain/events.ts'
import type {
  CallProgress,
  CallProgressEvent,
  ContextEvent,
  DeltaEvent,
  RoundEvent,
  RunStateEvent,
  RunStartedEvent,
  StoredEvent,
  WarningEvent,
} from '../domain/events.ts'
import type { AssistantMessage, Message, ParentNames, ToolMessage, UserMessage } from '../domain/messages/message.ts'
import { isLeaders, parentNames } from '../domain/messages/message.ts'
import { attemptField } from '../domain/runs/attempt.ts'
import type { Run, RunCounts, RunNotice } from '../domain/runs/run.ts'
import { NO_USAGE } from '../domain/usage/usage.ts'

/**
 * Each function of this module creates one kind of event. The loop uses these functions for live events, and `storedEvents`
 * uses them to derive events from the log. So a live event and its counterpart from the log have the same id.
 */
export function runQueued(run: Run): RunStateEvent {
  return { type: 'run.queued', id: eventId(run.id, 'run.queued'), runId: run.id, run: inFirstState(run, 'queued') }
}

/** Creates the event of a run's start. `message`: the run's input; undefined for a run that continues without one. */
export function runStarted(run: Run, message: UserMessage | undefined): RunStartedEvent {
  const id = eventId(message?.id ?? run.id, 'run.started')
  return { type: 'run.started', id, runId: run.id, run: inFirstState(run, 'running'), ...definedFields({ message }) }
}

/** Returns the run as it was when it was queued, or when it started. */
function inFirstState({ startedAt, ...run }: Run, status: 'queued' | 'running'): Run {
  const time = status === 'running' && startedAt !== undefined ? { startedAt } : {}
  return { ...withoutLaterFields(run), ...time, status, rounds: 0, usage: NO_USAGE, usageByAgent: {} }
}

/** Returns the run without the fields that its execution adds. */
function withoutLaterFields({ endedAt: _endedAt, stopReason: _stopReason, error: _error, ...run }: Run): Run {
  const { notices: _notices, decisions: _decisions, output: _output, ...begun } = run
  return begun
}

/** Creates the event of a pause, or of the end of a pause, with the run's state at that time. */
function runPausedOrResumed(run: Run, { type, counts }: ChangeNotice, id: string): RunStateEvent {
  const status = type === 'run.paused' ? 'paused' : 'running'
  return { type, id, runId: run.id, run: { ...withoutLaterFields(run), ...counts, status } }
}

type ChangeNotice = Extract<RunNotice, { counts: RunCounts }>

/**
 * Returns the name of the event of a pause, or of a pause's end. The name of a pause contains the id of the message
 * with the first waiting call. The name of a pause's end contains the id of the log's last message. If there is no such
 * message, the name contains the run's id.
 */
function nameOfChange(run: Run, notice: ChangeNotice): string {
  const message = notice.type === 'run.paused' ? notice.asked : notice.after
  return eventId(message === '' ? run.id : message, notice.type)
}

/** Adds the calls that a pause waits for, in log order. */
export const withWaiting = (event: RunStateEvent, calls: readonly ToolMessage[]): RunStateEvent => ({
  ...event,
  waiting: calls.map((call) => ({ ...begunCall(call), status: 'waiting' })),
})

/** Returns a call in its initial state, without later fields. */
export function begunCall({
  output: _output,
  sources: _sources,
  completedAt: _completedAt,
  ...call
}: ToolMessage): ToolMessage {
  const { durationMs: _durationMs, resolutionHash: _hash, decision: _decision, position: _position, ...begun } = call
  return { ...begun, status: call.needs === undefined ? 'running' : 'waiting', parts: [] }
}

/** Creates the event of a run's end, according to its status. */
export function runEnded(run: Run): RunStateEvent {
  const type = run.status === 'failed' ? 'run.failed' : run.status === 'cancelled' ? 'run.cancelled' : 'run.completed'
  return { type, id: eventId(run.id, type), runId: run.id, run }
}

/** Identifies a round of a thread among all rounds of a run. */
export interface RoundOfThread extends ThreadNames {
  readonly runId: string
  readonly round: number
}

/** Returns the round that a message belongs to. */
export const roundOfMessage = (message: Message): RoundOfThread => ({
  runId: message.runId,
  ...memberNames(message),
  round: message.round,
})

/** Creates the event of a round's start. `attempt`: the number of the attempt whose deltas follow. */
export function roundStarted(at: RoundOfThread, attempt: number | undefined): RoundEvent {
  return { ...at, type: 'round.started', ...attemptField(attempt) }
}

/** Creates the event after which consumers discard the deltas of this round so far. `attempt` is the next attempt. */
export function roundRestarted(at: RoundOfThread, attempt: number, reason: string): RoundEvent {
  return { ...at, type: 'round.restarted', ...attemptField(attempt), reason }
}

type Delta<Event> = Event extends DeltaEvent ? Omit<Event, 'runId' | 'round' | keyof ThreadNames> : never

/** Creates the event of a piece of a streaming completion. */
export function delta(at: RoundOfThread, piece: Delta<DeltaEvent>): DeltaEvent {
  return { ...at, ...piece }
}

/**
 * Creates the event of a completed message. It has no ratings, because they are added later and live events must equal
 * those from the log.
 */
export function messageCompleted({ feedback: _feedback, ...message }: AssistantMessage): StoredEvent {
  const id = eventId(message.id, 'message.completed')
  return { type: 'message.completed', id, runId: message.runId, ...memberNames(message), message }
}

export function messageSteered(message: UserMessage): StoredEvent {
  const id = eventId(message.id, 'message.steered')
  return { type: 'message.steered', id, runId: message.runId, message }
}

export function callStarted(message: ToolMessage): StoredEvent {
  const id = eventId(message.id, 'tool_call.started')
  return { type: 'tool_call.started', id, runId: message.runId, ...memberNames(message), message }
}

export function callCompleted(message: ToolMessage): StoredEvent {
  const id = eventId(message.id, 'tool_call.completed')
  return { type: 'tool_call.completed', id, runId: message.runId, ...memberNames(message), message }
}

export function callProgress(message: ToolMessage, howFar: CallProgress): CallProgressEvent {
  const { id: messageId, runId, toolCallId, toolName } = message
  return { type: 'tool_call.progress', runId, ...memberNames(message), messageId, toolCallId, toolName, ...howFar }
}

type NoticeEvent = ContextEvent | WarningEvent | RunStateEvent

/**
 * Creates the event of each notice; undefined for a notice without an event. Events of warnings and of the context are
 * numbered per type. Two pauses may have the same name if no message is stored between them, and so may two ends of a
 * pause. This happens if a run is taken over, and then pauses and resumes. The later events of a name are numbered from
 * 1, so that each id is unique.
 */
export function noticeEvents(run: Run, notices: readonly RunNotice[]): (NoticeEvent | undefined)[] {
  const seen = new Map<string, number>()
  const countBefore = (name: string): number => {
    const number = seen.get(name) ?? 0
    seen.set(name, number + 1)
    return number
  }
  return notices.map((one): NoticeEvent | undefined => {
    if (one.type === 'calls.resolved') return undefined
    if (one.type === 'run.paused' || one.type === 'run.resumed') {
      const name = nameOfChange(run, one)
      const number = countBefore(name)
      return runPausedOrResumed(run, one, number === 0 ? name : `${name}:${number}`)
    }
    const { after: _after, ...notice } = one
    const name = eventId(run.id, notice.type)
    return { ...notice, id: `${name}:${countBefore(name)}`, runId: run.id }
  })
}

/** Returns the event of a run's last notice, if the notice marks a pause or the end of a pause. */
export function lastChange(run: Run): RunStateEvent | undefined {
  const last = noticeEvents(run, run.notices ?? []).at(-1)
  return last?.type === 'run.paused' || last?.type === 'run.resumed' ? last : undefined
}

/** Fields that name the team member; empty for the leader. */
interface ThreadNames extends ParentNames {
  readonly agent?: string
}

function memberNames(message: Message): ThreadNames {
  return isLeaders(message) ? {} : { agent: message.agent, ...parentNames(message) }
}
