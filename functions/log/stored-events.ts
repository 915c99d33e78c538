import type { RunEvent, StoredEvent } from '../domain/events.ts'
import { isLeaders, OPEN_STATUSES } from '../domain/message.ts'
import type { Message, ToolMessage, UserMessage } from '../domain/message.ts'
import type { Run } from '../domain/run.ts'
import { isEnded } from '../domain/run.ts'
import { NO_USAGE } from '../domain/usage.ts'
import {
  callCompleted,
  callStarted,
  messageCompleted,
  roundStarted,
  runEnded,
  runPaused,
  runQueued,
  runStarted,
} from './run-events.ts'

/**
 * The events of a run as its log tells them, with the ids that they have when seen live: what a consumer gets that comes
 * late, or watches from another process. `messages`: the run's own, ids ascending. `blocked`: the run waits for
 * somebody else.
 */
export function storedEvents(run: Run, messages: readonly Message[], blocked: boolean): RunEvent[] {
  const own = messages.filter((message) => message.runId === run.id && isLeaders(message))
  const events: RunEvent[] = []
  if (run.startedAt === undefined ? run.status === 'queued' : run.startedAt > run.createdAt)
    events.push(runQueued(asBegun(run, 'queued')))
  if (run.startedAt !== undefined) {
    const input = own.find((one): one is UserMessage => one.role === 'user')
    events.push(runStarted(asBegun(run, 'running'), input))
  }
  for (const message of own) {
    if (message.role === 'user') continue
    if (message.role === 'tool') events.push(...toolEvents(message))
    else events.push(roundStarted({ runId: run.id, round: message.round }), messageCompleted(message))
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

/** The run as it was before anything had come of it. */
function asBegun(run: Run, status: 'queued' | 'running'): Run {
  const { startedAt, endedAt: _endedAt, stopReason: _stopReason, error: _error, ...begun } = run
  const time = status === 'running' && startedAt !== undefined ? { startedAt } : {}
  return { ...begun, ...time, status, rounds: 0, usage: NO_USAGE, usageByAgent: {} }
}

function toolEvents(message: ToolMessage): StoredEvent[] {
  const { output: _output, completedAt: _completedAt, durationMs: _durationMs, ...begun } = message
  const status = message.needs === undefined ? 'running' : 'waiting'
  const started = callStarted({ ...begun, status, parts: [] })
  return OPEN_STATUSES.includes(message.status) ? [started] : [started, callCompleted(message)]
}

function lastEvent(run: Run, own: readonly Message[], blocked: boolean): StoredEvent | undefined {
  if (isEnded(run.status)) return runEnded(run)
  if (run.status !== 'paused' || !blocked) return undefined
  return runPaused(
    run,
    own.filter((one): one is ToolMessage => one.role === 'tool' && one.status === 'waiting'),
  )
}
