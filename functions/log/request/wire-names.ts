import { sha256 } from '../../domain/hash.ts'
import type { ModelRequest, RequestMessage, RequestToolCall } from '../../domain/model-request.ts'

/** The names or ids that a provider accepts. */
export interface NameRules {
  /** A character that it refuses. */
  readonly foreign: RegExp
  readonly maxLength: number
}

/** Tool names on every wire. */
export const TOOL_NAMES: NameRules = { foreign: /[^a-zA-Z0-9_-]/, maxLength: 64 }
/** The narrowest form, for a provider that has refused the usual one. */
export const NARROW_NAMES: NameRules = { foreign: /[^a-zA-Z0-9_]/, maxLength: 40 }
/** Call ids in Chat Completions. Servers read ids such as `functions.shell:0`, so signs are kept. */
export const CHAT_IDS: NameRules = { foreign: /[^\x21-\x7e]/, maxLength: 40 }
/** Call ids in the other formats. */
export const PLAIN_IDS: NameRules = { foreign: /[^a-zA-Z0-9_-]/, maxLength: 64 }

const HASH_DIGITS = 16
/** The end of each mapped name. A name of the log with such an end is mapped, too: no two names become one. */
const MAPPED = new RegExp(`_x[0-9a-f]{${HASH_DIGITS}}$`)

/**
 * The name as the provider accepts it. One that fits stays as it is; another one keeps a readable beginning and ends with a hash of
 * the whole. Depends on nothing else, so that it is the same in every request and on every page of a log (promises R5).
 */
export function wireName(name: string, { foreign, maxLength }: NameRules, fallback = 'tool'): string {
  if (name !== '' && name.length <= maxLength && !foreign.test(name) && !MAPPED.test(name)) return name
  // Not as UTF-8: halves of characters would all become the same.
  const end = `_x${sha256(Buffer.from(name, 'utf16le')).slice(0, HASH_DIGITS)}`
  const readable = name
    .replace(/^[^a-zA-Z]+/, '')
    .slice(0, maxLength - end.length)
    .replaceAll(new RegExp(foreign, 'g'), '_')
  return (readable === '' ? fallback : readable) + end
}

const wireId = (id: string, rules: NameRules | undefined): string =>
  rules === undefined ? id : wireName(id, rules, 'call')

/** The rules for one request. Without `ids`, ids stay as they are. */
export interface WireRules {
  readonly names: NameRules
  readonly ids?: NameRules
}

/** The messages with names and ids as the provider accepts them: a call and its result have the same. */
export function withWireNames(messages: readonly RequestMessage[], { names, ids }: WireRules): RequestMessage[] {
  return messages.map((message) => {
    if (message.role === 'user') return message
    if (message.role === 'tool') {
      const { toolCallId, toolName } = message
      return { ...message, toolCallId: wireId(toolCallId, ids), toolName: wireName(toolName, names) }
    }
    if (!message.parts.some(({ type }) => type === 'tool_call')) return message
    return { ...message, parts: message.parts.map((part) => (part.type === 'tool_call' ? wireCall(part) : part)) }
  })

  function wireCall(call: RequestToolCall): RequestToolCall {
    const name = wireName(call.name, names)
    return { ...call, id: wireId(call.id, ids), name, ...(name === call.name ? {} : { originalName: call.name }) }
  }
}

/** The rules for tool names of a request. */
export const namesOf = ({ narrowNames }: { readonly narrowNames?: boolean }): NameRules =>
  narrowNames === true ? NARROW_NAMES : TOOL_NAMES

/** A request as a provider accepts its names, and the way back: the name of the log for one that the model uses. */
export interface WireRequest {
  readonly request: ModelRequest
  originalOf(name: string): string
}

export function toWireRequest(request: ModelRequest, ids: NameRules | undefined): WireRequest {
  const names = namesOf(request)
  const messages = withWireNames(request.messages, { names, ...(ids === undefined ? {} : { ids }) })
  const originals = new Map<string, string>()
  for (const { parts } of messages)
    for (const part of parts)
      if (part.type === 'tool_call' && part.originalName !== undefined) originals.set(part.name, part.originalName)
  const tools = request.tools.map((tool) => {
    const name = wireName(tool.name, names)
    if (name !== tool.name) originals.set(name, tool.name)
    return { ...tool, name }
  })
  const choice = request.toolChoice
  const toolChoice = typeof choice === 'object' ? { name: wireName(choice.name, names) } : choice
  return { request: { ...request, messages, tools, toolChoice }, originalOf: (name) => originals.get(name) ?? name }
}
