import { definedFields } from '../../domain/defined-fields.ts'
import type { DeltaEvent, MessageCompletedEvent, RoundEvent, RunEvent, ToolCallEvent } from '../../domain/events.ts'
import { STREAMED_AGAIN } from '../../domain/events.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import type { WaitingCall } from '../v1/runs/resource.ts'
import type { RunEnd, RunStep, StepNames } from './run-step.ts'
import { createRoundEmitter } from './round-emitter.ts'
import type { RoundEmitter } from './round-emitter.ts'

export interface RunSteps {
  /** The steps of this event. `waiting`: the calls of a `run.paused`, with their arguments. */
  take(event: RunEvent, waiting?: readonly WaitingCall[]): RunStep[]
  /** How the run ended, after the last event. Undefined if the events stopped earlier. */
  end(): RunEnd | undefined
}

/** The part of a run that the follower already knows. */
export interface Known {
  /** The last known message. Known messages yield no steps. */
  readonly after?: string | undefined
  /** Calls that the follower knows, but whose end it has not seen. */
  readonly open?: readonly ToolMessage[] | undefined
}

/** Converts a run's events to steps. */
export function createRunSteps({ after = '', open = [] }: Known = {}): RunSteps {
  const openIds = new Set(open.map(({ id }) => id))
  const isKnown = (event: RunEvent): boolean => {
    if (!('message' in event) || event.message === undefined || event.message.id > after) return false
    return event.type !== 'tool_call.completed' || !openIds.has(event.message.id)
  }
  const threads = createThreads(open)
  let end: Pick<RunEnd, 'run' | 'waiting'> | undefined
  let usedBefore: Usage | undefined
  return {
    end: () => end && { ...end, usedBefore },
    take(event, waiting = []) {
      if (isKnown(event)) return []
      switch (event.type) {
        case 'tool_call.started':
          return threads.begin(event, ofEvent(event))
        case 'tool_call.completed':
          return threads.end(event, ofEvent(event))
        case 'warning':
        case 'context.nearly_full':
        case 'context.consolidated':
        case 'message.steered':
        case 'tool_call.progress':
          return [{ type: 'notice', event }]
        case 'run.paused':
        case 'run.completed':
        case 'run.failed':
        case 'run.cancelled':
          end = { run: event.run, waiting }
          return []
        case 'run.resumed':
          end = undefined
          usedBefore = event.run.usage
          return []
        case 'run.queued':
        case 'run.started':
          return []
        default:
          return threads.take(event, ofEvent(event))
      }
    },
  }
}

type ThreadEvent = DeltaEvent | RoundEvent | MessageCompletedEvent

/** The calls of a thread that have not ended. Events of the thread's next round are held back until these calls end. */
interface OpenCalls {
  readonly ids: Set<string>
  held: ThreadEvent[]
}

/**
 * The rounds in progress of the leader and of members. A round is held back until the calls of the round before it have
 * ended, so that live events have the order of the log. Without this, the order could differ: a model request may
 * contain a result that is still being stored. The next round then streams before the call's end is emitted. `known`:
 * calls that are open when the follower begins.
 */
function createThreads(known: readonly ToolMessage[]) {
  const rounds = createRounds()
  const threads = new Map<string, OpenCalls>()
  const open = (id: string, thread: string): void => {
    const { ids, held } = threads.get(thread) ?? { ids: new Set(), held: [] }
    threads.set(thread, { ids: ids.add(id), held })
  }
  for (const { id, parentMessageId = '' } of known) open(id, parentMessageId)
  const release = (thread: string, of: StepNames): RunStep[] => {
    const { held = [] } = threads.get(thread) ?? {}
    threads.delete(thread)
    return held.flatMap((event) => rounds.take(event, of))
  }
  return {
    take(event: ThreadEvent, of: StepNames): RunStep[] {
      const thread = threadOf(of)
      const calls = threads.get(thread)
      if (calls !== undefined && event.type !== 'message.completed') {
        calls.held.push(event)
        return []
      }
      // No event needs to be held back any longer, because all earlier results are stored before a completion (promises L4).
      return [...release(thread, of), ...rounds.take(event, of)]
    },
    begin({ message }: ToolCallEvent, of: StepNames): RunStep[] {
      open(message.id, threadOf(of))
      return [{ type: 'call_started', message, ...of }]
    },
    end({ message }: ToolCallEvent, of: StepNames): RunStep[] {
      const thread = threadOf(of)
      const calls = threads.get(thread)
      calls?.ids.delete(message.id)
      const held = calls?.ids.size === 0 ? release(thread, of) : []
      return [{ type: 'call_ended', message, ...of }, ...held]
    },
  }
}

const threadOf = ({ parentMessageId = '' }: StepNames): string => parentMessageId

/** The current rounds of the leader and of members. */
function createRounds() {
  const rounds = new Map<string, RoundEmitter>()
  return {
    take(event: ThreadEvent, of: StepNames): RunStep[] {
      const thread = threadOf(of)
      if (event.type === 'round.started') {
        rounds.set(thread, createRoundEmitter(event.round, event.attempt ?? 0, of))
        return []
      }
      const { round: number, attempt = 0 } = placeOf(event)
      const round = rounds.get(thread) ?? createRoundEmitter(number, attempt, of)
      rounds.set(thread, round)
      if (event.type === 'message.completed') {
        rounds.delete(thread)
        return round.complete(event.message)
      }
      if (event.type !== 'round.restarted') return round.piece(event)
      return event.reason === STREAMED_AGAIN ? round.repeat(attempt) : round.discard(attempt)
    },
  }
}

/** The round of an event, and the number of its attempt. Deltas have no number. */
const placeOf = (event: ThreadEvent): { readonly round: number; readonly attempt?: number } =>
  event.type === 'message.completed' ? event.message : event

function ofEvent(event: RunEvent): StepNames {
  const { agent, parentToolCallId, parentMessageId } = event
  if (isLeaders(event)) return {}
  return {
    ...definedFields({ agent, parentToolCallId, parentMessageId }),
  }
}
