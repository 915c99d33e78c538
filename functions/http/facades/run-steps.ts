import type {
  CallProgressEvent,
  ContextEvent,
  DeltaEvent,
  MessageCompletedEvent,
  MessageSteeredEvent,
  RoundEvent,
  RunEvent,
  WarningEvent,
} from '../../domain/events.ts'
import { isLeaders } from '../../domain/message.ts'
import type { AssistantMessage, ParentNames, ToolMessage } from '../../domain/message.ts'
import type { Run } from '../../domain/run.ts'
import type { Usage } from '../../domain/usage.ts'
import type { WaitingCall } from '../v1/resources/run.ts'

/** Whose step it is: a member's names the call that the member works for. */
type Of = ParentNames & { readonly agent?: string }

/**
 * What other formats are made of. The pieces of a completion come in order and are its whole content, whether its deltas were seen
 * or not.
 */
export type RunStep =
  | (Of & { readonly type: 'round'; readonly round: number })
  /** The pieces of this round so far are void; the same round begins anew. */
  | (Of & { readonly type: 'discard'; readonly round: number })
  | (Of & { readonly type: 'text' | 'reasoning'; readonly round: number; readonly text: string })
  | (Of & {
      readonly type: 'call'
      readonly round: number
      readonly sequence: number
      readonly id: string
      readonly name: string
      /** The next piece of the raw string. */
      readonly arguments: string
    })
  /** Follows its pieces. */
  | (Of & { readonly type: 'completion'; readonly message: AssistantMessage })
  | (Of & { readonly type: 'call_started' | 'call_ended'; readonly message: ToolMessage })
  | { readonly type: 'notice'; readonly event: NoticeEvent }

type NoticeEvent = WarningEvent | ContextEvent | MessageSteeredEvent | CallProgressEvent

/** What a notice says, without the names of its run. */
export function noticeData({ type: _type, runId: _run, ...rest }: NoticeEvent) {
  const { id: _id, ...data } = { id: undefined, ...rest }
  return data
}

/** How a run ended, or why it waits. */
export interface RunEnd {
  readonly run: Run
  readonly waiting: readonly WaitingCall[]
  /** What the run had used when it was last resumed: that is told already. */
  readonly usedBefore: Usage | undefined
}

export interface RunSteps {
  /** The steps of this event. `waiting`: the calls of a `run.paused`, with their arguments. */
  take(event: RunEvent, waiting?: readonly WaitingCall[]): RunStep[]
  /** After the last event: how it ended. Undefined if the events broke off. */
  end(): RunEnd | undefined
}

/** What a round has streamed so far. */
interface Streamed {
  isTold: boolean
  text: string
  reasoning: string
  readonly calls: Map<number, string>
}

const nothing = (): Streamed => ({ isTold: false, text: '', reasoning: '', calls: new Map() })

/** What whoever follows knows already. */
export interface Known {
  /** The last of the messages that are known, and make no steps. */
  readonly after?: string | undefined
  /** Of these, calls whose end is not known. */
  readonly open?: ReadonlySet<string> | undefined
}

/** Makes steps of a run's events. */
export function createRunSteps({ after = '', open }: Known = {}): RunSteps {
  const isKnown = (event: RunEvent): boolean => {
    if (!('message' in event) || event.message === undefined || event.message.id > after) return false
    return event.type !== 'tool_call.completed' || open?.has(event.message.id) !== true
  }
  const threads = createThreads()
  let end: Pick<RunEnd, 'run' | 'waiting'> | undefined
  let usedBefore: Usage | undefined
  return {
    end: () => end && { ...end, usedBefore },
    take(event, waiting = []) {
      if (isKnown(event)) return []
      switch (event.type) {
        case 'tool_call.started':
          return [{ type: 'call_started', message: event.message, ...ofEvent(event) }]
        case 'tool_call.completed':
          return [{ type: 'call_ended', message: event.message, ...ofEvent(event) }]
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

/** The rounds under way: the leader's, and those of members. */
function createThreads() {
  const rounds = new Map<string, Streamed>()
  const roundOf = (thread: string): Streamed => {
    const found = rounds.get(thread) ?? nothing()
    rounds.set(thread, found)
    return found
  }
  return {
    take(event: DeltaEvent | RoundEvent | MessageCompletedEvent, of: Of): RunStep[] {
      const thread = of.parentMessageId ?? ''
      const round = roundOf(thread)
      const steps = ((): RunStep[] => {
        switch (event.type) {
          case 'round.started':
            rounds.set(thread, nothing())
            return []
          case 'round.restarted':
            rounds.set(thread, { ...nothing(), isTold: round.isTold })
            return [{ type: 'discard', round: event.round, ...of }]
          case 'message.completed':
            rounds.delete(thread)
            return [...restOf(event.message, round, of), { type: 'completion', message: event.message, ...of }]
          default:
            return [pieceOf(event, round, of)]
        }
      })()
      return withRound(event, round, steps, of)
    },
  }

  /** A round is told with its first step, and one that nothing was told of has nothing to discard. */
  function withRound(
    event: DeltaEvent | RoundEvent | MessageCompletedEvent,
    round: Streamed,
    steps: RunStep[],
    of: Of,
  ): RunStep[] {
    if (event.type === 'round.restarted' && !round.isTold) return []
    if (round.isTold || steps.length === 0) return steps
    round.isTold = true
    const number = event.type === 'message.completed' ? event.message.round : event.round
    return [{ type: 'round', round: number, ...of }, ...steps]
  }
}

/** A delta as a step; `round` remembers it. */
function pieceOf(event: DeltaEvent, round: Streamed, of: Of): RunStep {
  if (event.type === 'tool_call.delta') {
    const { sequence, toolCallId: id, toolName: name, arguments: piece } = event
    round.calls.set(sequence, (round.calls.get(sequence) ?? '') + piece)
    return { type: 'call', round: event.round, sequence, id, name, arguments: piece, ...of }
  }
  const type = event.type === 'text.delta' ? 'text' : 'reasoning'
  round[type] += event.text
  return { type, round: event.round, text: event.text, ...of }
}

function ofEvent(event: RunEvent): Of {
  const { agent, parentToolCallId, parentMessageId } = event
  if (isLeaders(event)) return {}
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(parentToolCallId === undefined ? {} : { parentToolCallId }),
    ...(parentMessageId === undefined ? {} : { parentMessageId }),
  }
}

/** What of a stored completion its deltas did not bring, in its order. */
function restOf(message: AssistantMessage, streamed: Streamed, of: Of): RunStep[] {
  const seen = { text: streamed.text.length, reasoning: streamed.reasoning.length }
  return message.parts.flatMap((part): RunStep[] => {
    if (part.type === 'error') return []
    if (part.type === 'tool_call') {
      const sequence = message.toolCalls.findIndex(({ id }) => id === part.id)
      const call = message.toolCalls[sequence]
      const known = streamed.calls.get(sequence)
      if (call === undefined || known === call.arguments) return []
      const rest = call.arguments.slice(known?.length ?? 0)
      return [{ type: 'call', round: message.round, sequence, id: call.id, name: call.name, arguments: rest, ...of }]
    }
    const skipped = Math.min(seen[part.type], part.text.length)
    seen[part.type] -= skipped
    const text = part.text.slice(skipped)
    return text === '' ? [] : [{ type: part.type, round: message.round, text, ...of }]
  })
}
