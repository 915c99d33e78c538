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
import type { Run, RunCounts, RunNotice } from '../domain/runs/run.ts'

/**
 * One maker for each kind of event. The loop uses them to emit what it has stored, and `storedEvents` to derive the same events
 * from the log: an event has the same id wherever it comes from.
 */
export function runQueued(run: Run): RunStateEvent {
  return { type: 'run.queued', id: eventId(run.id, 'run.queued'), runId: run.id, run }
}

/** `message`: the run's input; absent on a run that continues without one. */
export function runStarted(run: Run, message: UserMessage | undefined): RunStartedEvent {
  const id = eventId(message?.id ?? run.id, 'run.started')
  return { type: 'run.started', id, runId: run.id, run, ...definedFields({ message }) }
}

/** A pause or its end: the run as it was then. A pause has the id of the message that asked for its first call. */
function runPausedOrResumed(run: Run, notice: Extract<RunNotice, { counts: RunCounts }>): RunStateEvent {
  const { type, counts } = notice
  const { endedAt: _endedAt, stopReason: _stopReason, error: _error, notices: _notices, ...begun } = run
  const id = notice.type === 'run.paused' ? notice.asked : notice.after
  const then = { ...begun, ...counts, status: type === 'run.paused' ? ('paused' as const) : ('running' as const) }
  return { type, id: eventId(id === '' ? run.id : id, type), runId: run.id, run: then }
}

/** The calls that a pause waits for, in the order of the log. */
export const withWaiting = (event: RunStateEvent, calls: readonly ToolMessage[]): RunStateEvent => ({
  ...event,
  waiting: calls.map((call) => ({ ...begunCall(call), status: 'waiting' })),
})

/** A call without what came later. */
export function begunCall({
  output: _output,
  sources: _sources,
  completedAt: _completedAt,
  ...call
}: ToolMessage): ToolMessage {
  const { durationMs: _durationMs, resolutionHash: _hash, decision: _decision, position: _position, ...begun } = call
  return { ...begun, status: call.needs === undefined ? 'running' : 'waiting', parts: [] }
}

/** How the run has ended, as its status says. */
export function runEnded(run: Run): RunStateEvent {
  const type = run.status === 'failed' ? 'run.failed' : run.status === 'cancelled' ? 'run.cancelled' : 'run.completed'
  return { type, id: eventId(run.id, type), runId: run.id, run }
}

/** A round of a thread; tells its later events from those of other rounds. */
export interface RoundOfThread extends ThreadNames {
  readonly runId: string
  readonly round: number
}

/** The round that a message belongs to. */
export const roundOfMessage = (message: Message): RoundOfThread => ({
  runId: message.runId,
  ...memberNames(message),
  round: message.round,
})

export function roundStarted(at: RoundOfThread): RoundEvent {
  return { ...at, type: 'round.started' }
}

/** Discard what has streamed of the round so far. */
export function roundRestarted(at: RoundOfThread, reason: string): RoundEvent {
  return { ...at, type: 'round.restarted', reason }
}

type Delta<Event> = Event extends DeltaEvent ? Omit<Event, 'runId' | 'round' | keyof ThreadNames> : never

/** A piece of a completion that is still streaming. */
export function delta(at: RoundOfThread, piece: Delta<DeltaEvent>): DeltaEvent {
  return { ...at, ...piece }
}

export function messageCompleted(message: AssistantMessage): StoredEvent {
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
 * The event of each of a run's notices; undefined for a notice that has none. Those of warnings and of the context are numbered by
 * type.
 */
export function noticeEvents(run: Run, notices: readonly RunNotice[]): (NoticeEvent | undefined)[] {
  const seen = new Map<string, number>()
  return notices.map((one): NoticeEvent | undefined => {
    if (one.type === 'calls.resolved') return undefined
    if (one.type === 'run.paused' || one.type === 'run.resumed') return runPausedOrResumed(run, one)
    const { after: _after, ...notice } = one
    const number = seen.get(notice.type) ?? 0
    seen.set(notice.type, number + 1)
    return { ...notice, id: `${eventId(run.id, notice.type)}:${number}`, runId: run.id }
  })
}

/** The event of a run's last notice, if that is a pause or its end. */
export function lastChange(run: Run): RunStateEvent | undefined {
  const last = run.notices?.at(-1)
  return last?.type === 'run.paused' || last?.type === 'run.resumed' ? runPausedOrResumed(run, last) : undefined
}

/** The fields that name the team member; none for the leader. */
interface ThreadNames extends ParentNames {
  readonly agent?: string
}

function memberNames(message: Message): ThreadNames {
  return isLeaders(message) ? {} : { agent: message.agent, ...parentNames(message) }
}
