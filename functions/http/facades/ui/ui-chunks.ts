import type { AssistantMessage, ToolMessage } from '../../../domain/message.ts'
import { textOf } from '../../../domain/message.ts'
import type { Run } from '../../../domain/run.ts'
import { jsonFault } from '../../../log/json-size.ts'
import { usageResource } from '../../v1/resources/usage.ts'
import { roundCallId } from '../call-id.ts'
import { noticeData } from '../run-steps.ts'
import type { RunEnd, RunStep } from '../run-steps.ts'

/** One chunk of the AI SDK's UI message stream. */
export interface UiChunk {
  readonly type: string
  readonly [field: string]: unknown
}

export interface UiChunks {
  take(step: RunStep): UiChunk[]
  end(end: RunEnd): UiChunk[]
}

interface Options {
  /** Whether the client executes the tool of this name. */
  isClients(name: string): boolean
  /** The client knows `reset-step`. */
  readonly canReset: boolean
}

/** Arguments as the UI shows them: what is not JSON stays the text that it is. */
export function uiInput(text: string): unknown {
  if (jsonFault(text) !== undefined) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** How a run's end is called there. */
function uiFinishReason({ status, stopReason }: Run, ofModel: string | undefined): string {
  if (status === 'paused') return 'tool-calls'
  if (stopReason === 'output_limit' || stopReason === 'max_rounds' || stopReason === 'budget') return 'length'
  return ofModel === 'content-filter' ? 'content-filter' : 'stop'
}

/** What the UI is told of a run beside its parts. */
export const uiMetadata = ({ id, usage }: Run) => ({ run_id: id, usage: usageResource(usage) })

/** A run as the chunks of one message: each round a step, with its calls and their results. */
export function createUiChunks(options: Options): UiChunks {
  const blocks = createBlocks()
  let finishReason: string | undefined
  /** Calls of this round that have begun, by their place. */
  const begun = new Set<number>()
  const executed = (name: string) => (options.isClients(name) ? {} : { providerExecuted: true })
  const calls = createCalls(executed)
  return {
    take(step) {
      if (step.type === 'notice') {
        const { type } = step.event
        const data = noticeData(step.event)
        if ('message' in data) return []
        // Not kept among the parts of the message: there may be many.
        if (type === 'tool_call.progress') return [{ type: 'data-progress', data, transient: true }]
        return [{ type: type === 'warning' ? 'data-warning' : 'data-context', data }]
      }
      if (step.parentToolCallId !== undefined) return memberChunks(step)
      switch (step.type) {
        case 'round':
          begun.clear()
          return blocks.step()
        case 'discard':
          begun.clear()
          return options.canReset ? [...blocks.reset(), { type: 'reset-step' }] : blocks.step()
        case 'text':
        case 'reasoning':
          return blocks.piece(step.type, step.text)
        case 'call': {
          const isNew = !begun.has(step.sequence)
          begun.add(step.sequence)
          return [...blocks.close(), ...calls.piece(step, isNew)]
        }
        case 'completion':
          finishReason = step.message.finishReason
          return [...blocks.close(), ...calls.whole(step.message, options.isClients)]
        case 'call_started':
          return calls.waits(step.message)
        case 'call_ended':
          return calls.ended(step.message)
        default:
          return step satisfies never
      }
    },
    end({ run, waiting }) {
      const closed = blocks.end()
      if (run.status === 'failed') {
        const errorText = run.error?.message ?? 'the run failed'
        return [...closed, { type: 'error', errorText }]
      }
      if (run.status === 'cancelled') return [...closed, { type: 'abort', reason: run.stopReason ?? 'cancelled' }]
      const asked = waiting.flatMap(({ message, arguments: text }) => calls.asked(message, text))
      const reason = uiFinishReason(run, finishReason)
      return [...asked, ...closed, { type: 'finish', finishReason: reason, messageMetadata: uiMetadata(run) }]
    },
  }
}

/** Texts and reasoning, one block after another, and the steps that they stand in. */
function createBlocks() {
  let open: { readonly type: 'text' | 'reasoning'; readonly id: string } | undefined
  let count = 0
  let isInStep = false
  const close = (): UiChunk[] => {
    const closed = open === undefined ? [] : [{ type: `${open.type}-end`, id: open.id }]
    open = undefined
    return closed
  }
  const end = (): UiChunk[] => {
    const chunks = [...close(), ...(isInStep ? [{ type: 'finish-step' }] : [])]
    isInStep = false
    return chunks
  }
  return {
    close,
    end,
    step(): UiChunk[] {
      const before = end()
      isInStep = true
      return [...before, { type: 'start-step' }]
    },
    /** What is open is gone with its step. */
    reset(): UiChunk[] {
      open = undefined
      return []
    },
    piece(type: 'text' | 'reasoning', delta: string): UiChunk[] {
      const before = open?.type === type ? [] : close()
      const isNew = open === undefined
      open ??= { type, id: `${type}-${++count}` }
      const { id } = open
      return [...before, ...(isNew ? [{ type: `${type}-start`, id }] : []), { type: `${type}-delta`, id, delta }]
    },
  }
}

/** Calls and their results. `executed`: who executes the tool of this name. */
function createCalls(executed: (name: string) => object) {
  const available = new Set<string>()
  const input = (toolCallId: string, toolName: string, text: string): UiChunk => {
    available.add(toolCallId)
    const fields = { toolCallId, toolName, input: uiInput(text), dynamic: true, ...executed(toolName) }
    return { type: 'tool-input-available', ...fields }
  }
  /** Arguments of the client's calls, until it is known that they wait for it. */
  const held = new Map<string, string>()
  return {
    piece({ id, round, name, arguments: delta }: Extract<RunStep, { type: 'call' }>, isNew: boolean): UiChunk[] {
      const toolCallId = roundCallId({ toolCallId: id, round })
      const start = { type: 'tool-input-start', toolCallId, toolName: name, dynamic: true, ...executed(name) }
      const piece = delta === '' ? [] : [{ type: 'tool-input-delta', toolCallId, inputTextDelta: delta }]
      return [...(isNew ? [start] : []), ...piece]
    },
    whole({ toolCalls, round }: AssistantMessage, isClients: Options['isClients']): UiChunk[] {
      return toolCalls.flatMap(({ id, name, arguments: text }) => {
        const toolCallId = roundCallId({ toolCallId: id, round })
        if (!isClients(name)) return [input(toolCallId, name, text)]
        held.set(toolCallId, text)
        return []
      })
    },
    waits(message: ToolMessage): UiChunk[] {
      const id = roundCallId(message)
      return message.needs === 'result' && held.has(id) ? [input(id, message.toolName, held.get(id) ?? '')] : []
    },
    ended(message: ToolMessage): UiChunk[] {
      const toolCallId = roundCallId(message)
      const text = held.get(toolCallId)
      const before = text !== undefined && !available.has(toolCallId) ? [input(toolCallId, message.toolName, text)] : []
      return [...before, ...endOf(message, { toolCallId, dynamic: true, ...executed(message.toolName) })]
    },
    /** A call of a pause. A member's has not been told, and is named by its row. */
    asked(message: ToolMessage, text: string): UiChunk[] {
      const isLeaders = message.parentToolCallId === undefined
      const toolCallId = isLeaders ? roundCallId(message) : message.id
      const told = isLeaders ? [] : [input(toolCallId, message.toolName, text)]
      const approval = { type: 'tool-approval-request', approvalId: message.id, toolCallId }
      return message.needs === 'approval' ? [...told, approval] : told
    },
  }
}

function endOf(message: ToolMessage, fields: object): UiChunk[] {
  const text = textOf(message.parts)
  if (message.status !== 'completed') return [{ type: 'tool-output-error', ...fields, errorText: text }]
  const sources = (message.sources ?? []).flatMap(({ title, url }, place) =>
    url === undefined ? [] : [{ type: 'source-url', sourceId: `${message.id}:${place}`, url, title }],
  )
  return [{ type: 'tool-output-available', ...fields, output: text }, ...sources]
}

/** What a member of a team does, once it is done. */
function memberChunks(step: Exclude<RunStep, { type: 'notice' }>): UiChunk[] {
  return step.type === 'completion' || step.type === 'call_ended' ? [memberPart(step.message)] : []
}

/** A completion of a member, or a call of its that has ended. */
export function memberPart(message: AssistantMessage | ToolMessage): UiChunk {
  const { agent, parentToolCallId: parent } = message
  const did = message.role === 'tool' ? { call: message.call, status: message.status } : { text: textOf(message.parts) }
  return { type: 'data-member', data: { agent, parent_tool_call_id: parent, ...did } }
}
