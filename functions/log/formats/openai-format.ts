import { definedFields } from '../../domain/defined-fields.ts'
import type { RequestMedia, RequestMessage, RequestText, RequestToolCall } from '../../domain/model-request.ts'
import { wellFormedMessages } from '../json/well-formed.ts'
import { mediaText } from './media-text.ts'
import { CHAT_IDS, namesOf, withWireNames } from '../request/wire-names.ts'

export type OpenAiPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { filename: string; file_data: string } }
interface OpenAiToolCall {
  id: string
  type: 'function'
  /**
   * `original_name`: the tool's name in the log, if `name` is a mapped name. Shown only to people, and never sent to a
   * server.
   */
  function: { name: string; arguments: string; original_name?: string }
  extra_content?: { google: { thought_signature: string } }
}
/** A Chat Completions message. */
export type OpenAiMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | OpenAiPart[] }
  | { role: 'assistant'; content: string | null; reasoning_content?: string; tool_calls?: OpenAiToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

/**
 * Converts a request's messages to the form of an OpenAI-compatible server (promises R6). `arguments` are passed on unchanged,
 * and the order of keys is fixed. A media part without its bytes becomes a line of text. `forPeople`: adds `original_name`,
 * the name in the log, for each tool whose name was mapped.
 */
export function toOpenAiMessages(
  messages: readonly RequestMessage[],
  instructions?: string,
  options: { readonly narrowNames?: boolean; readonly forPeople?: boolean } = {},
): OpenAiMessage[] {
  const content = instructions?.toWellFormed()
  const wire = withWireNames(messages, { names: namesOf(options), ids: CHAT_IDS })
  const system: OpenAiMessage[] = content === undefined ? [] : [{ role: 'system', content }]
  return [...system, ...wellFormedMessages(wire).map((message) => toOpenAiMessage(message, options.forPeople ?? false))]
}

function toOpenAiMessage(message: RequestMessage, forPeople: boolean): OpenAiMessage {
  if (message.role === 'user') return { role: 'user', content: userContent(message.parts) }
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.toolCallId, content: toolText(message.parts) }
  }
  const joined = (type: 'text' | 'reasoning'): string =>
    message.parts.flatMap((part) => (part.type === type ? [part.text] : [])).join('')
  const text = joined('text')
  const reasoning = joined('reasoning')
  const calls = message.parts.flatMap((part) => (part.type === 'tool_call' ? [toToolCall(part, forPeople)] : []))
  return {
    role: 'assistant',
    content: calls.length > 0 && text === '' ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
}

function toToolCall(call: RequestToolCall, forPeople: boolean): OpenAiToolCall {
  const original = forPeople ? call.originalName?.toWellFormed() : undefined
  const signature = call.provider?.['openaiCompatible']?.['thoughtSignature']
  return {
    id: call.id,
    type: 'function',
    function: {
      name: call.name,
      arguments: call.arguments,
      ...definedFields({ original_name: original }),
    },
    ...(typeof signature === 'string' ? { extra_content: { google: { thought_signature: signature } } } : {}),
  }
}

function userContent(parts: readonly (RequestText | RequestMedia)[]): string | OpenAiPart[] {
  const [first] = parts
  if (parts.length === 1 && first?.type === 'text') return first.text
  return parts.map(toOpenAiPart)
}

function toOpenAiPart(part: RequestText | RequestMedia): OpenAiPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.url !== undefined) return linkPart(part, part.url)
  if (part.data === undefined || !isSendable(part.mediaType)) return { type: 'text', text: mediaText(part) }
  if (part.mediaType.startsWith('text/')) return { type: 'text', text: Buffer.from(part.data).toString('utf8') }
  return linkPart(part, `data:${part.mediaType};base64,${Buffer.from(part.data).toString('base64')}`)
}

function linkPart(part: RequestMedia, url: string): OpenAiPart {
  return part.mediaType.startsWith('image/')
    ? { type: 'image_url', image_url: { url } }
    : { type: 'file', file: { filename: part.filename ?? 'document.pdf', file_data: url } }
}

/** Whether a file can be sent. Chat Completions accepts images and PDF files. Files of plain text are sent as text. */
const isSendable = (mediaType: string): boolean =>
  mediaType.startsWith('image/') || mediaType.startsWith('text/') || mediaType === 'application/pdf'

/** Returns a tool result as text. Chat Completions allows no media in a tool result, and base64 would be noise. */
export function toolText(parts: readonly (RequestText | RequestMedia)[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : mediaText(part))).join('\n')
}
