import { definedFields } from '../../domain/defined-fields.ts'
import type { ClientTool } from '../../domain/runs/run.ts'
import { invalidRequest, parseItems } from '../middleware/validation.ts'
import type { ChatMessage } from '../openai/chat/chat-schemas.ts'
import { readChatMessages, refused } from '../openai/chat/chat-request.ts'
import type { ChatInput } from '../openai/chat/chat-request.ts'
import { isImageAddress } from '../v1/messages/incoming-images.ts'
import { agUiMessage } from './schemas.ts'
import type { AgUiMessage, RunAgentInput } from './schemas.ts'

/** Converts an AG-UI input to our format. Also returns the approval decisions that the input contains. */
export function readAgUiInput(body: RunAgentInput): {
  readonly input: ChatInput
  readonly decisions: ReadonlyMap<string, boolean>
} {
  const messages = parseItems('body.messages', agUiMessage, body.messages)
  const placed = messages.flatMap((message, at) =>
    chatMessages(message, at).map((one) => ({ message: one, at: placeOf(at), bytesAt: bytesAt(message) })),
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

/** The field of each part that holds its bytes or its address. */
function bytesAt(message: AgUiMessage): string[] {
  if (message.role !== 'user' || typeof message.content === 'string') return []
  return message.content.map((part) => {
    if (part.type !== 'binary') return 'source.value'
    return typeof part.data === 'string' ? 'data' : 'url'
  })
}

function chatMessages(message: AgUiMessage, at: number): ChatMessage[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: message.role, content: message.content }]
    case 'user':
      return [{ role: 'user', content: userContent(message.content, `${placeOf(at)}.content`) }]
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

function userContent(content: UserContent, path: string): Extract<ChatMessage, { role: 'user' }>['content'] {
  if (typeof content === 'string') return content
  return content.map((part, index) => {
    if (part.type === 'text') return part
    if (part.type === 'binary') return mediaPart(binaryUrl(part, `${path}[${index}].url`), part)
    const { source } = part
    const url = source.type === 'url' ? source.value : dataUrl(source.mimeType, source.value)
    return mediaPart(url, part.type === 'image' ? { mimeType: 'image/' } : {})
  })
}

type BinaryPart = Extract<Exclude<UserContent, string>[number], { type: 'binary' }>

const dataUrl = (mimeType: string, data: string): string => `data:${mimeType};base64,${data}`

function mediaPart(url: string, { mimeType = '', filename }: Partial<Pick<BinaryPart, 'mimeType' | 'filename'>>) {
  if (isImage(mimeType)) return { type: 'image_url' as const, image_url: { url } }
  return { type: 'file' as const, file: { file_data: url, ...definedFields({ filename: filename ?? undefined }) } }
}

const isImage = (mimeType: string): boolean => /^image\//i.test(mimeType)

/** The address of a part, or its bytes as a data URL. Only images may have an address that is not a data URL. */
function binaryUrl({ mimeType, data, url }: BinaryPart, path: string): string {
  if (typeof data === 'string' || typeof url !== 'string') return dataUrl(mimeType, data ?? '')
  if (isImageAddress(url) && !isImage(mimeType))
    throw refused(path, 'must be a data URL: only an image, with a mimeType such as image/png, may have an address')
  return url
}
