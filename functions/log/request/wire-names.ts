import { sha256 } from '../../domain/hash.ts'
import type { ModelRequest, RequestMessage, RequestToolCall } from '../../domain/model-request.ts'

/** The rules of a provider for names or ids. */
export interface NameRules {
  /** Matches a character that the provider refuses. */
  readonly foreign: RegExp
  readonly maxLength: number
}

/** Usual rules for tool names. */
export const TOOL_NAMES: NameRules = { foreign: /[^a-zA-Z0-9_-]/, maxLength: 64 }
/** Strictest rules for tool names, for a provider that refused names in the usual form. */
export const NARROW_NAMES: NameRules = { foreign: /[^a-zA-Z0-9_]/, maxLength: 40 }
/**
 * Rules for call ids in Chat Completions. Servers interpret ids that they made, such as `functions.shell:0` or ids with
 * a signature of any length, so such ids are kept. A server that refuses an id gets the id in the narrow form.
 */
export const CHAT_IDS: NameRules = { foreign: /[^\x21-\x7e]/, maxLength: Infinity }
/** Rules for call ids in the other formats. */
export const PLAIN_IDS: NameRules = { foreign: /[^a-zA-Z0-9_-]/, maxLength: 64 }

const HASH_DIGITS = 16
/** Matches the end of a mapped name. Names of the log that end like this are mapped as well, to avoid collisions. */
const MAPPED = new RegExp(`_x[0-9a-f]{${HASH_DIGITS}}$`)

/**
 * Returns the name in a form that the provider accepts. An acceptable name is unchanged. Any other result has a
 * readable beginning and ends with a hash of the name. The result depends only on the name and the rules, so every
 * request and every page agree (promises R5).
 */
export function wireName(name: string, { foreign, maxLength }: NameRules, fallback = 'tool'): string {
  if (name !== '' && name.length <= maxLength && !foreign.test(name) && !MAPPED.test(name)) return name
  // The hash is made of UTF-16, because UTF-8 would encode all lone surrogates alike.
  const end = `_x${sha256(Buffer.from(name, 'utf16le')).slice(0, HASH_DIGITS)}`
  const readable = name
    .replace(/^[^a-zA-Z]+/, '')
    .slice(0, maxLength - end.length)
    .replaceAll(new RegExp(foreign, 'g'), '_')
  return (readable === '' ? fallback : readable) + end
}

const wireId = (id: string, rules: NameRules | undefined): string =>
  rules === undefined ? id : wireName(id, rules, 'call')

/** The rules for the names and ids in one request. If `ids` is absent, ids are unchanged. */
export interface WireRules {
  readonly names: NameRules
  readonly ids?: NameRules
}

/** Maps names and ids in messages. A call and its result get the same id. */
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

/** Selects the rules for the tool names of a request. */
export const namesOf = ({ narrowNames }: { readonly narrowNames?: boolean }): NameRules =>
  narrowNames === true ? NARROW_NAMES : TOOL_NAMES

/** A request with mapped names. `originalOf` maps a name that the model uses back to the log's name. */
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
