import { definedFields } from '../../domain/defined-fields.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import { textOf } from '../../domain/messages/message.ts'
import type { RunStep } from '../run-steps/run-step.ts'

/** One event of AG-UI. */
export interface AgUiEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** Converts the steps of the leader or of one member: its texts, reasoning and calls, one after another. */
export interface Thread {
  take(step: Exclude<RunStep, { type: 'notice' }>): AgUiEvent[]
  /** Ends the open block. */
  close(): AgUiEvent[]
}

/** The fields that mark a member's events as a subagent's. Omitted for the leader: null is not allowed. */
interface Of {
  readonly subagentRunId?: string
}

type CallLocation = Pick<ToolMessage, 'runId' | 'round' | 'sequence' | 'parentMessageId'>

/**
 * The id of a call for the client. A client keeps all runs of a thread, but models reuse call ids. So the id contains
 * the run's id.
 */
export const agUiCallId = ({ runId, round, sequence, parentMessageId }: CallLocation): string =>
  `${runId}:${round}:${sequence}${parentMessageId === undefined ? '' : `:${parentMessageId}`}`

/** Creates a thread of this run. For a member, `parentMessageId` is the row of its delegate call. */
export function createThread(runId: string, parentMessageId: string | undefined): Thread {
  const of: Of = parentMessageId === undefined ? {} : { subagentRunId: parentMessageId }
  const member = parentMessageId === undefined ? {} : { parentMessageId }
  const blocks = createBlocks(of)
  const names = createNames(runId, parentMessageId)
  /** Id of the client's message that contains the calls of the current round. */
  let holder: string | undefined
  /** The calls of the round so far. They are sent only after they are stored, because a client executes each call. */
  const calls = new Map<number, { readonly name: string; arguments: string }>()
  const close = (): AgUiEvent[] => {
    calls.clear()
    return blocks.close()
  }
  const called = (round: number): AgUiEvent[] =>
    [...calls].flatMap(([sequence, call]) => {
      holder ??= names.next(round)
      const toolCallId = agUiCallId({ runId, round, sequence, ...member })
      const start = { type: 'TOOL_CALL_START', toolCallId, toolCallName: call.name, parentMessageId: holder, ...of }
      const whole = { type: 'TOOL_CALL_ARGS', toolCallId, delta: call.arguments, ...of }
      return [start, ...(call.arguments === '' ? [] : [whole]), { type: 'TOOL_CALL_END', toolCallId, ...of }]
    })
  return {
    close,
    take(step) {
      switch (step.type) {
        case 'round':
        case 'discard':
          names.begin(step)
          holder = undefined
          return close()
        case 'text':
        case 'reasoning': {
          const { messageId, events } = blocks.piece(step.type, step.text, () => names.next(step.round))
          if (step.type === 'text') holder ??= messageId
          return events
        }
        case 'call': {
          const call = calls.get(step.sequence) ?? { name: step.name, arguments: '' }
          call.arguments += step.arguments
          calls.set(step.sequence, call)
          return []
        }
        case 'completion': {
          const events = [...blocks.close(), ...called(step.message.round)]
          calls.clear()
          return events
        }
        case 'call_started':
          return []
        case 'call_ended':
          return resultOf(step.message, of)
        default:
          return step satisfies never
      }
    },
  }
}

/**
 * Creates the ids of a thread's messages. Messages of discarded attempts are not counted, so that a later read creates
 * equal ids.
 */
function createNames(runId: string, parentMessageId: string | undefined) {
  const thread = parentMessageId === undefined ? '' : `:${parentMessageId}`
  let [count, before, attempt] = [0, 0, 0]
  return {
    /** Begins a round, or another attempt at its completion. */
    begin(step: Extract<RunStep, { type: 'round' | 'discard' }>): void {
      if (step.type === 'round') before = count
      else count = before
      attempt = step.attempt
    },
    next: (round: number): string => `${runId}:${round}:m${++count}${attempt === 0 ? '' : `r${attempt}`}${thread}`,
  }
}

/** The text and reasoning blocks; one block is open at a time. */
function createBlocks(of: Of) {
  let open: { readonly type: 'text' | 'reasoning'; readonly messageId: string } | undefined
  const close = (): AgUiEvent[] => {
    const { type, messageId } = open ?? {}
    open = undefined
    if (type === undefined) return []
    if (type === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId, ...of }]
    return [
      { type: 'REASONING_MESSAGE_END', messageId, ...of },
      { type: 'REASONING_END', messageId, ...of },
    ]
  }
  const begin = (type: 'text' | 'reasoning', messageId: string): AgUiEvent[] =>
    type === 'text'
      ? [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...of }]
      : [
          { type: 'REASONING_START', messageId, ...of },
          { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning', ...of },
        ]
  return {
    close,
    piece(type: 'text' | 'reasoning', delta: string, name: () => string) {
      const before = open?.type === type ? [] : close()
      const isNew = open === undefined
      open ??= { type, messageId: name() }
      const { messageId } = open
      const content = type === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
      const starts = isNew ? begin(type, messageId) : []
      return { messageId, events: [...before, ...starts, { type: content, messageId, delta, ...of }] }
    },
  }
}

/** The result of a call executed here. The client already has the results of its own calls. */
function resultOf(message: ToolMessage, of: Of): AgUiEvent[] {
  if (message.needs === 'result') return []
  const toolCallId = agUiCallId(message)
  const content = textOf(message.parts)
  const result = { type: 'TOOL_CALL_RESULT', messageId: message.id, toolCallId, content, role: 'tool', ...of }
  const sources = (message.sources ?? []).map(({ title, url }) => ({ title, ...definedFields({ url }) }))
  if (sources.length === 0) return [result]
  return [result, { type: 'CUSTOM', name: 'sources', value: { toolCallId, sources } }]
}
