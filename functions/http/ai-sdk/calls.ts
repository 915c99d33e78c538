import type { AssistantMessage, ToolMessage } from '../../domain/messages/message.ts'
import { textOf } from '../../domain/messages/message.ts'
import { readJson } from '../../log/json/exact-json.ts'
import { jsonFault } from '../../log/json/json-size.ts'
import { clientCallId, roundCallId } from '../run-steps/call-id.ts'
import type { RunStep } from '../run-steps/run-step.ts'

/** One chunk of the AI SDK's UI message stream. */
export interface UiChunk {
  readonly type: string
  readonly [field: string]: unknown
}

/** The output of a delegation whose member waits for a client or an approval. */
export const MEMBER_WAITS = '[waiting for an answer]'

/** Parses arguments for the UI. Text that is not JSON is returned unchanged. */
export function uiInput(text: string): unknown {
  if (jsonFault(text) !== undefined) return text
  try {
    return readJson(text)
  } catch {
    return text
  }
}

/**
 * Converts calls and their results to chunks. `executed` returns the field that says whether the server executes this
 * tool.
 */
export function createCalls(executed: (name: string) => object) {
  const available = new Set<string>()
  const input = (toolCallId: string, toolName: string, text: string): UiChunk => {
    available.add(toolCallId)
    const fields = { toolCallId, toolName, input: uiInput(text), dynamic: true, ...executed(toolName) }
    return { type: 'tool-input-available', ...fields }
  }
  /** Arguments of the client's calls, held back until the pause shows that they wait for the client. */
  const held = new Map<string, string>()
  /** Calls executed here that have started and not ended. */
  const running = new Map<string, ToolMessage>()
  /** Arguments of members' calls, by their completion and index. */
  const ofMembers = new Map<string, string>()
  return {
    piece({ id, round, name, arguments: delta }: Extract<RunStep, { type: 'call' }>, isNew: boolean): UiChunk[] {
      const toolCallId = roundCallId({ toolCallId: id, round })
      const start = { type: 'tool-input-start', toolCallId, toolName: name, dynamic: true, ...executed(name) }
      const piece = delta === '' ? [] : [{ type: 'tool-input-delta', toolCallId, inputTextDelta: delta }]
      return [...(isNew ? [start] : []), ...piece]
    },
    whole({ toolCalls, round }: AssistantMessage, isClients: (name: string) => boolean): UiChunk[] {
      return toolCalls.flatMap(({ id, name, arguments: text }) => {
        const toolCallId = roundCallId({ toolCallId: id, round })
        if (isClients(name)) held.set(toolCallId, text)
        return isClients(name) ? [] : [input(toolCallId, name, text)]
      })
    },
    began(message: ToolMessage): UiChunk[] {
      const id = roundCallId(message)
      if (message.needs === undefined) running.set(message.id, message)
      return message.needs === 'result' && held.has(id) ? [input(id, message.toolName, held.get(id) ?? '')] : []
    },
    /** Placeholder outputs of delegations whose members wait. Without them, the client would not send its decisions. */
    working: (): UiChunk[] =>
      [...running.values()].map(({ toolName, ...call }) => {
        const fields = { toolCallId: roundCallId(call), dynamic: true, ...executed(toolName), output: MEMBER_WAITS }
        return { type: 'tool-output-available', ...fields }
      }),
    /** Converts a call that a pause waits for. A member's call was not sent before the pause. */
    asked(message: ToolMessage, text: string): UiChunk[] {
      const toolCallId = clientCallId(message)
      if (message.needs !== 'approval')
        return message.parentToolCallId === undefined ? [] : [input(toolCallId, message.toolName, text)]
      available.add(toolCallId)
      return approvalChunks(message, text)
    },
    /** Records a member's completion, whose calls are sent only if a client must resolve them. */
    note({ id, toolCalls }: AssistantMessage): void {
      for (const [sequence, call] of toolCalls.entries()) ofMembers.set(`${id} ${sequence}`, call.arguments)
    },
    ended(message: ToolMessage): UiChunk[] {
      running.delete(message.id)
      const toolCallId = clientCallId(message)
      const text = held.get(toolCallId) ?? ofMembers.get(`${message.assistantMessageId} ${message.sequence}`)
      const before = text !== undefined && !available.has(toolCallId) ? [input(toolCallId, message.toolName, text)] : []
      const fields = { toolCallId, dynamic: true, ...executed(message.toolName) }
      return [...before, ...(message.status === 'denied' ? deny(message, available) : endOf(message, fields))]
    },
  }
}

/** Converts a member's finished messages. Calls that a client must resolve are sent like the leader's. */
export function memberChunks(
  step: Exclude<RunStep, { type: 'notice' }>,
  calls: ReturnType<typeof createCalls>,
): UiChunk[] {
  if (step.type === 'call_ended' && step.message.needs !== undefined) return calls.ended(step.message)
  if (step.type !== 'completion' && step.type !== 'call_ended') return []
  if (step.type === 'completion') calls.note(step.message)
  return [memberPart(step.message)]
}

/**
 * Converts a call that waits for a decision. The call is sent again as the client's call, because the client responds
 * only when all of its own calls are done.
 */
function approvalChunks(message: ToolMessage, text: string): UiChunk[] {
  const [toolCallId, toolName] = [clientCallId(message), message.toolName]
  return [
    { type: 'tool-input-start', toolCallId, toolName, dynamic: true, providerExecuted: false },
    { type: 'tool-input-delta', toolCallId, inputTextDelta: text },
    { type: 'tool-approval-request', approvalId: message.id, toolCallId },
  ]
}

/**
 * Converts a denied call. A stream that starts before the call also needs the request for approval, because a denied
 * part must have an approval.
 */
function deny(message: ToolMessage, available: ReadonlySet<string>): UiChunk[] {
  const toolCallId = clientCallId(message)
  const request = { type: 'tool-approval-request', approvalId: message.id, toolCallId }
  return [...(available.has(toolCallId) ? [request] : []), { type: 'tool-output-denied', toolCallId }]
}

function endOf(message: ToolMessage, fields: object): UiChunk[] {
  const text = textOf(message.parts)
  if (message.status !== 'completed') return [{ type: 'tool-output-error', ...fields, errorText: text }]
  const sources = (message.sources ?? []).flatMap(({ title, url }, place) =>
    url === undefined ? [] : [{ type: 'source-url', sourceId: `${message.id}:${place}`, url, title }],
  )
  return [{ type: 'tool-output-available', ...fields, output: text }, ...sources]
}

/** A member's completion or ended call, as a data part. */
export function memberPart(message: AssistantMessage | ToolMessage): UiChunk {
  const { agent, parentToolCallId: parent } = message
  const did = message.role === 'tool' ? { call: message.call, status: message.status } : { text: textOf(message.parts) }
  return { type: 'data-member', data: { agent, parent_tool_call_id: parent, ...did } }
}
