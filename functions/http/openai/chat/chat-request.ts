import type { CallResolution } from '../../../agent/service/agent-service.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { JsonObject } from '../../../domain/json.ts'
import type { RequestSettings } from '../../../domain/runs/request-settings.ts'
import type { ClientTool } from '../../../domain/runs/run.ts'
import { dataOf } from '../../../log/import/fields.ts'
import type { InvalidField } from '../../middleware/request-error.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import { isImageAddress } from '../../v1/messages/incoming-images.ts'
import type { RequestPart } from '../../v1/messages/incoming-images.ts'
import { chatSettings } from '../settings-fields.ts'
import type { ChatCompletionRequest, ChatMessage } from './chat-schemas.ts'

type UserMessage = Extract<ChatMessage, { role: 'user' }>
type ToolMessage = Extract<ChatMessage, { role: 'tool' }>

/** A message with its path in the request: `messages[3]`. */
export interface PlacedMessage {
  readonly message: ChatMessage
  readonly at: string
  /** For each part, the field with its bytes or address. Absent if the request has the form of Chat Completions. */
  readonly bytesAt?: readonly string[]
}

/** A result for a call of the last completion. `field`: the path of the field that contains the call's id. */
interface PlacedResult extends PlacedMessage {
  readonly result: CallResolution
  readonly field: string
}

/** The user's new content in one message. */
interface Said<Part> {
  readonly parts: readonly Part[]
  readonly at: string
  /** See `PlacedMessage`. */
  readonly bytesAt?: readonly string[]
}

/** A chat completion request in our format. Until an image is fetched, its part contains only its address. */
export interface ChatInput<Part = RequestPart> {
  /** The texts of its system and developer messages. */
  readonly instructions: string | undefined
  /** The messages that the client received or sent before. */
  readonly history: readonly PlacedMessage[]
  readonly results: readonly PlacedResult[]
  /** All messages after the last completion. */
  readonly fresh: readonly PlacedMessage[]
  /** The user's new content, by message; may be empty. */
  readonly said: readonly Said<Part>[]
  /** Undefined if the request names no tools: a request that continues a run keeps the run's tools. */
  readonly tools: readonly ClientTool[] | undefined
  /** Undefined if the format has no settings. A request that continues a run then keeps the run's settings. */
  readonly settings?: RequestSettings
  /** The path of each tool's name. Absent if the request lists its tools as Chat Completions does. */
  readonly toolPaths?: readonly string[]
  readonly metadata: JsonObject | undefined
}

/**
 * Splits a request into known messages, new messages and settings. Rejects an unsupported feature with the path of its
 * field.
 */
export function readChatRequest(body: ChatCompletionRequest): ChatInput {
  const { session_id: _session, ...metadata } = body.metadata ?? {}
  const talk = readChatMessages(body.messages.map((message, at) => ({ message, at: `messages[${at}]` })))
  if (talk.said.length === 0 && talk.results.length === 0)
    throw refused('messages', 'must end with a user message or tool results')
  return {
    ...talk,
    tools: body.tools?.map(toolOf),
    settings: chatSettings(body),
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  }
}

/**
 * Splits messages into those up to the last assistant message and those after it. Each message has its path in the
 * request.
 */
export function readChatMessages(placed: readonly PlacedMessage[]): Omit<ChatInput, 'tools' | 'metadata'> {
  const system = placed.flatMap(({ message }) =>
    message.role === 'system' || message.role === 'developer' ? [textOf(message.content)] : [],
  )
  const talk = placed.filter(({ message }) => message.role !== 'system' && message.role !== 'developer')
  const last = talk.findLastIndex(({ message }) => message.role === 'assistant')
  const fresh = talk.slice(last + 1)
  const results = fresh.flatMap(({ message, at }) =>
    message.role === 'tool' ? [{ result: resultOf(message), message, at, field: `${at}.tool_call_id` }] : [],
  )
  refuseRepeated(results)
  return {
    instructions: system.length === 0 ? undefined : system.join('\n\n'),
    history: talk.slice(0, last + 1),
    results,
    fresh,
    said: fresh.flatMap(({ message, at, bytesAt }) =>
      message.role === 'user' ? [{ parts: partsOf(message, at, bytesAt), at, ...definedFields({ bytesAt }) }] : [],
    ),
  }
}

/** Rejects two results for one call. */
export function refuseRepeated(results: ChatInput['results']): void {
  const seen = new Set<string | undefined>()
  const repeated = results.find(({ result }) => seen.size === seen.add(result.toolCallId).size)
  if (repeated !== undefined) throw refused(repeated.field, 'has a result already')
}

const resultOf = ({ tool_call_id: toolCallId, content }: ToolMessage): CallResolution => ({
  toolCallId,
  output: [{ type: 'text', text: textOf(content) }],
})

/** The text of a content that may be a string or parts. */
export const textOf = (content: string | readonly { readonly text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('')

function toolOf({ function: one }: NonNullable<ChatCompletionRequest['tools']>[number]): ClientTool {
  const { name, description, parameters, strict } = one
  return {
    name,
    description: description ?? '',
    parameters: parameters ?? { type: 'object', properties: {} },
    ...definedFields({ strict: strict ?? undefined }),
  }
}

function partsOf({ content }: UserMessage, at: string, bytesAt: readonly string[] | undefined): RequestPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, index): RequestPart => {
    const path = `${at}.content[${index}]`
    if (part.type === 'text') return { type: 'text', text: part.text }
    if (part.type === 'image_url') return imageOf(part.image_url.url, `${path}.${bytesAt?.[index] ?? 'image_url.url'}`)
    const { filename, file_data: data, file_id: id } = part.file
    if (id !== undefined) throw refused(`${path}.file.file_id`, 'is not supported: send the file as file_data')
    return {
      type: 'file',
      ...bytesOf(data ?? '', `${path}.${bytesAt?.[index] ?? 'file.file_data'}`, ''),
      ...definedFields({ filename }),
    }
  })
}

/** Converts an image by its URL: a data URL, or an address that is fetched when the input is accepted. */
export function imageOf(url: string, path: string): RequestPart {
  return isImageAddress(url) ? { type: 'image', url } : { type: 'image', ...bytesOf(url, path, 'image/') }
}

/** Decodes the bytes of a data URL. Other URLs are rejected: only images are fetched. */
export function bytesOf(
  url: string,
  path: string,
  kind: string,
): { readonly mediaType: string; readonly data: Uint8Array } {
  const found = dataOf(url)
  if (found === undefined || found.data.length === 0)
    throw refused(path, 'must be a data URL with base64 (data:…;base64,…); only images may have another address')
  if (!found.mediaType.startsWith(kind) || !MEDIA_TYPE.test(found.mediaType))
    throw refused(path, `must have the media type of ${kind === '' ? 'a file' : 'an image, such as image/png'}`)
  return found
}

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/

/** The error for one wrong field of the body. */
export function refused(path: string, message: string): Error {
  const errors: InvalidField[] = [{ path: `body.${path}`, message }]
  return invalidRequest(errors)
}
