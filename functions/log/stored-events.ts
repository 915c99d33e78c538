import { eventId } from '../domain/events.ts'
import type { RunEvent, StoredEvent } from '../domain/events.ts'
import type { Message, ToolMessage, UserMessage } from '../domain/message.ts'
import { OPEN_STATUSES } from '../domain/message.ts'
import type { Run } from '../domain/run.ts'
import { isEnded } from '../domain/run.ts'
import { NO_USAGE } from '../domain/usage.ts'

/**
 * The events of a run as its log tells them, with the ids that they have when seen live: what a consumer gets that comes
 * late, or watches from another process. `messages`: the run's own, ids ascending. `blocked`: the run waits for answers.
 */
export function storedEvents(run: Run, messages: readonly Message[], blocked: boolean): RunEvent[] {
  const own = messages.filter((message) => message.runId === run.id && message.parentToolCallId === undefined)
  const base = { runId: run.id }
  const events: RunEvent[] = []
  if (run.startedAt === undefined ? run.status === 'queued' : run.startedAt > run.createdAt)
    events.push({ ...base, type: 'run.queued', id: eventId(run.id, 'run.queued'), run: asBegun(run, 'queued') })
  if (run.startedAt !== undefined) events.push(startedEvent(run, own))
  for (const message of own) {
    if (message.role === 'user') continue
    if (message.role === 'tool') events.push(...toolEvents(message))
    else {
      events.push({ ...base, type: 'round.started', round: message.round })
      events.push({ ...base, type: 'message.completed', id: eventId(message.id, 'message.completed'), message })
    }
  }
  const last = lastEvent(run, own, blocked)
  return last === undefined ? events : [...events, last]
}

/**
 * What is left of events for a consumer that has seen those up to `after`: all from the start of that event's round. An
 * unknown `after` leaves all.
 */
export function eventsFrom(events: readonly RunEvent[], after: string | undefined): readonly RunEvent[] {
  const seen = after === undefined ? -1 : events.findIndex((event) => 'id' in event && event.id === after)
  if (seen === -1) return events
  const round = events.slice(0, seen + 1).findLastIndex((event) => event.type === 'round.started')
  return events.slice(round === -1 ? 0 : round)
}

function startedEvent(run: Run, own: readonly Message[]): StoredEvent {
  const message = own.find((one): one is UserMessage => one.role === 'user')
  const id = eventId(message?.id ?? run.id, 'run.started')
  return {
    type: 'run.started',
    id,
    runId: run.id,
    run: asBegun(run, 'running'),
    ...(message === undefined ? {} : { message }),
  }
}

/** The run as it was before anything had come of it. */
function asBegun(run: Run, status: 'queued' | 'running'): Run {
  const { startedAt, endedAt: _endedAt, stopReason: _stopReason, error: _error, ...begun } = run
  const time = status === 'running' && startedAt !== undefined ? { startedAt } : {}
  return { ...begun, ...time, status, rounds: 0, usage: NO_USAGE, usageByAgent: {} }
}

function toolEvents(message: ToolMessage): StoredEvent[] {
  const { output: _output, completedAt: _completedAt, durationMs: _durationMs, ...begun } = message
  const status = message.needs === undefined ? 'running' : 'waiting'
  const started: StoredEvent = {
    type: 'tool_call.started',
    id: eventId(message.id, 'tool_call.started'),
    runId: message.runId,
    message: { ...begun, status, parts: [] },
  }
  if (OPEN_STATUSES.includes(message.status)) return [started]
  return [
    started,
    { type: 'tool_call.completed', id: eventId(message.id, 'tool_call.completed'), runId: message.runId, message },
  ]
}

function lastEvent(run: Run, own: readonly Message[], blocked: boolean): StoredEvent | undefined {
  if (isEnded(run.status)) {
    const type = run.status === 'failed' ? 'run.failed' : run.status === 'cancelled' ? 'run.cancelled' : 'run.completed'
    return { type, id: eventId(run.id, type), runId: run.id, run }
  }
  if (run.status !== 'paused' || !blocked) return undefined
  const waiting = own.filter((one): one is ToolMessage => one.role === 'tool' && one.status === 'waiting')
  const id = eventId(waiting[0]?.assistantMessageId ?? run.id, 'run.paused')
  return { type: 'run.paused', id, runId: run.id, run, waiting }
}
