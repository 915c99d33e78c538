import type { ClientTool } from '../../domain/runs/run.ts'
import { invalidRequest, parseItems } from '../middleware/validation.ts'
import type { ChatMessage } from '../openai/chat/chat-schemas.ts'
import { readChatMessages } from '../openai/chat/chat-request.ts'
import type { ChatInput } from '../openai/chat/chat-request.ts'
import { agUiMessage } from './schemas.ts'
import type { AgUiMessage, RunAgentInput } from './schemas.ts'

/** Converts an AG-UI input to our format. Also returns the approval decisions that the input contains. */
export function readAgUiInput(body: RunAgentInput): {
  readonly input: ChatInput
  readonly decisions: ReadonlyMap<string, boolean>
} {
  const messages = parseItems('body.messages', agUiMessage, body.messages)
  const placed = messages.flatMap((message, at) =>
    chatMessages(message).map((one) => ({ message: one, at: placeOf(at), bytesAt: 'source.value' })),
  )
  const talk = readChatMessages(placed)
  const failed = new Map(
    messages.map((message, at) => [placeOf(at), message.role === 'tool' ? message.error : undefined]),
  )
  const results = talk.results.map((one) => {
    const error = failed.get(one.at) ?? undefined
    return error === undefined ? one : { ...one, result: { toolCallId: one.result.toolCallId, error } }
  })
  const decisions = new Map((body.resume ?? []).map((one) => [one.interruptId, isApproved(one)]))
  if (talk.said.length === 0 && results.length === 0 && decisions.size === 0)
    throw invalidRequest([
      {
        path: 'body.messages',
        message: 'must end with a user message or tool results, unless there is a `resume`',
      },
    ])
  const tools = body.tools?.map(({ name, description, parameters, strict, metadata }): ClientTool => ({
    name,
    description: description ?? '',
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(strict === true || metadata?.strict === true ? { strict: true } : {}),
  }))
  return { input: { ...talk, results, tools, metadata: undefined }, decisions }
}

const placeOf = (at: number): string => `messages[${at}]`

function isApproved({ status, payload }: NonNullable<RunAgentInput['resume']>[number]): boolean {
  if (status === 'cancelled') return false
  return typeof payload === 'object' ? payload.approved : payload === true
}

function chatMessages(message: AgUiMessage): ChatMessage[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: message.role, content: message.content }]
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }]
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map((call) => ({ ...call, type: 'function' as const }))
      return [{ role: 'assistant', content: message.content ?? null, tool_calls: calls.length === 0 ? null : calls }]
    }
    case 'tool':
      return [{ role: 'tool', tool_call_id: message.toolCallId, content: message.content }]
    case 'reasoning':
    case 'activity':
      return []
  }
}

type UserContent = Extract<AgUiMessage, { role: 'user' }>['content']

function userContent(content: UserContent): Extract<ChatMessage, { role: 'user' }>['content'] {
  if (typeof content === 'string') return content
  return content.map((part) => {
    if (part.type === 'text') return part
    const { source } = part
    const url = source.type === 'url' ? source.value : `data:${source.mimeType};base64,${source.value}`
    return part.type === 'image'
      ? { type: 'image_url' as const, image_url: { url } }
      : { type: 'file' as const, file: { file_data: url } }
  })
}
