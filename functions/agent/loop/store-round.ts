import { nextId } from '../../domain/ids.ts'
import { MOST_CALLS } from '../../domain/message.ts'
import type { AssistantMessage, AssistantPart, ToolCall, ToolMessage } from '../../domain/message.ts'
import { callText } from '../../log/call-text.ts'
import { callStarted, messageCompleted } from '../../log/run-events.ts'
import type { Completion } from '../../ports/model.ts'
import { refusalOf } from './refusal.ts'
import { allocate } from './run-state.ts'
import type { RunState } from './run-state.ts'
import { remember } from './thread.ts'
import type { Thread } from './thread.ts'
import { parseArguments } from './tool-call.ts'

/**
 * A completion's parts and calls with every call id present and unique within the batch: empty, missing and repeated ids get a
 * fresh one, decided once, here, before anything is stored (promises L2).
 */
export function withUniqueCallIds(completion: Completion, now: number): Pick<Completion, 'parts' | 'toolCalls'> {
  const used = new Set<string>()
  const toolCalls = completion.toolCalls.map((call): ToolCall => {
    const id = call.id === '' || used.has(call.id) ? `call_${nextId(undefined, now)}` : call.id
    used.add(id)
    return { ...call, id }
  })
  let seen = 0
  const parts = completion.parts.map((part): AssistantPart => {
    if (part.type !== 'tool_call') return part
    const call = toolCalls[seen++]
    return call === undefined ? part : { type: 'tool_call', id: call.id }
  })
  return { parts, toolCalls }
}

/**
 * Stores a completion with its calls, each as an open row, in the one durable write that stands before the tools run. Calls of
 * client tools and of tools that need approval wait for somebody else; all others, and those that are refused, are `running`.
 */
export async function storeRound(state: RunState, thread: Thread, message: AssistantMessage): Promise<void> {
  const { lease } = state.held
  const calls = message.toolCalls.slice(0, MOST_CALLS)
  const [id = message.id, ...rowIds] = allocate(state, calls.length + 1)
  const assistant = { ...message, id }
  const rows = calls.map((call, sequence): ToolMessage => {
    const isRefused = refusalOf(thread, message, sequence) !== undefined
    const needs = isRefused ? undefined : needsOf(state, thread, call)
    return {
      id: rowIds[sequence] ?? '',
      role: 'tool',
      runId: message.runId,
      agent: message.agent,
      ...(message.parentToolCallId === undefined ? {} : { parentToolCallId: message.parentToolCallId }),
      round: message.round,
      createdAt: message.createdAt,
      assistantMessageId: id,
      toolCallId: call.id,
      toolName: call.name,
      call: callText(call),
      sequence,
      status: needs === undefined ? 'running' : 'waiting',
      ...(needs === undefined ? {} : { needs }),
      parts: [],
      generation: lease.generation,
    }
  })
  await state.store.log.appendRound(lease, { assistant, tools: rows })
  remember(thread, [assistant, ...rows])
  state.emit(messageCompleted(assistant))
  for (const row of rows) state.emit(callStarted(row))
}

function needsOf({ held }: RunState, { tools }: Thread, call: ToolCall): ToolMessage['needs'] {
  if (held.run.clientTools.some((tool) => tool.name === call.name)) return 'result'
  // Nobody is asked about a call that cannot be executed: it fails, and the model may mend it.
  const isExecutable = parseArguments(call.arguments) !== undefined
  return isExecutable && tools.get(call.name)?.needsApproval === true ? 'approval' : undefined
}
