import { eventId } from '../domain/events.ts'
import type { DeltaEvent, RoundEvent, RunStateEvent, RunStartedEvent, StoredEvent } from '../domain/events.ts'
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '../domain/message.ts'
import { isLeaders } from '../domain/message.ts'
import type { Run } from '../domain/run.ts'

/**
 * One maker for each kind of event. The loop emits with them what it has stored, and `storedEvents` derives with them the same
 * from the log: so an event has the same id wherever it comes from.
 */
export function runQueued(run: Run): RunStateEvent {
  return { type: 'run.queued', id: eventId(run.id, 'run.queued'), runId: run.id, run }
}

/** `message`: the run's input; absent on a run that continues without one. */
export function runStarted(run: Run, message: UserMessage | undefined): RunStartedEvent {
  const id = eventId(message?.id ?? run.id, 'run.started')
  return { type: 'run.started', id, runId: run.id, run, ...(message === undefined ? {} : { message }) }
}

/** `head`: the log's last id when the run was taken up again. */
export function runResumed(run: Run, head: string | undefined): RunStateEvent {
  return { type: 'run.resumed', id: eventId(head ?? run.id, 'run.resumed'), runId: run.id, run }
}

/** `waiting`: the calls that wait for somebody else, in the order of the log. */
export function runPaused(run: Run, waiting: readonly ToolMessage[]): RunStateEvent {
  const id = eventId(waiting[0]?.assistantMessageId ?? run.id, 'run.paused')
  return { type: 'run.paused', id, runId: run.id, run, waiting }
}

/** How the run has ended, as its status says. */
export function runEnded(run: Run): RunStateEvent {
  const type = run.status === 'failed' ? 'run.failed' : run.status === 'cancelled' ? 'run.cancelled' : 'run.completed'
  return { type, id: eventId(run.id, type), runId: run.id, run }
}

/** A round of a thread; what its later events are told apart by. */
export interface RoundOfThread extends ThreadNames {
  readonly runId: string
  readonly round: number
}

export function roundStarted(at: RoundOfThread): RoundEvent {
  return { ...at, type: 'round.started' }
}

/** What had streamed of the round is to be discarded. */
export function roundRestarted(at: RoundOfThread, reason: string): RoundEvent {
  return { ...at, type: 'round.restarted', reason }
}

type Delta<Event> = Event extends DeltaEvent ? Omit<Event, 'runId' | 'round' | 'agent' | 'parentToolCallId'> : never

/** A piece of a completion that is still being given. */
export function delta(at: RoundOfThread, piece: Delta<DeltaEvent>): DeltaEvent {
  return { ...at, ...piece }
}

export function messageCompleted(message: AssistantMessage): StoredEvent {
  const id = eventId(message.id, 'message.completed')
  return { type: 'message.completed', id, runId: message.runId, ...memberNames(message), message }
}

export function callStarted(message: ToolMessage): StoredEvent {
  const id = eventId(message.id, 'tool_call.started')
  return { type: 'tool_call.started', id, runId: message.runId, ...memberNames(message), message }
}

export function callCompleted(message: ToolMessage): StoredEvent {
  const id = eventId(message.id, 'tool_call.completed')
  return { type: 'tool_call.completed', id, runId: message.runId, ...memberNames(message), message }
}

/** What an event of a team member says of it; nothing on the leader's. */
interface ThreadNames {
  readonly agent?: string
  readonly parentToolCallId?: string
}

function memberNames(message: Message): ThreadNames {
  if (isLeaders(message) || message.parentToolCallId === undefined) return {}
  return { agent: message.agent, parentToolCallId: message.parentToolCallId }
}
