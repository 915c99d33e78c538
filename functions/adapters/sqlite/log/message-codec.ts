import { isDeepStrictEqual } from 'node:util'
import { timeOfId } from '../../../domain/ids.ts'
import type { Message, Output, Part, ToolCall, ToolStatus } from '../../../domain/message.ts'
import type { Usage } from '../../../domain/usage.ts'
import {
  compactUsage,
  lengthened,
  shortened,
  wholeUsage,
  type CompactUsage,
  type FieldNames,
} from './compact-fields.ts'

const NAMES: FieldNames = {
  parentToolCallId: 'p',
  round: 'r',
  createdAt: 't',
  parts: 'c',
  user: 'u',
  metadata: 'm',
  toolCalls: 'k',
  model: 'o',
  finishReason: 'f',
  usage: 'g',
  assistantMessageId: 'a',
  toolCallId: 'i',
  toolName: 'n',
  call: 'x',
  sequence: 's',
  needs: 'w',
  output: 'b',
  completedAt: 'e',
  durationMs: 'd',
  resolutionHash: 'h',
}

/** What a row says in columns of its own, so that queries can look at it. */
export interface MessageColumns extends Pick<Message, 'id' | 'runId' | 'role' | 'agent'> {
  readonly status?: ToolStatus
  readonly generation?: number
}
/** Fields that look different in a row than in a message. All others are the same but for their names. */
interface Special {
  readonly parts?: readonly Part[]
  readonly toolCalls?: readonly ToolCall[]
  readonly usage?: Usage
  readonly output?: Output
}
type CompactPart = string | number | Part
type CompactCall = readonly [id: string, name: string, rawArguments: string] | ToolCall
type CompactOutput = readonly [bytes: number, lines: number, sha256: string, mediaType: string, object?: string]
interface CompactSpecial {
  readonly parts?: readonly CompactPart[]
  readonly toolCalls?: readonly CompactCall[]
  readonly usage?: CompactUsage
  readonly output?: CompactOutput
}

/** The fields that a row keeps as text: JSON, so that NUL and lone surrogates come back as they were. */
export function encodeBody(message: Message): string {
  const columns: Record<keyof MessageColumns, undefined> = {
    id: undefined,
    runId: undefined,
    role: undefined,
    agent: undefined,
    status: undefined,
    generation: undefined,
  }
  const special: Special = message
  const calls = special.toolCalls ?? []
  const compact: Record<keyof Special | 'round' | 'createdAt', unknown> = {
    round: message.round === 0 ? undefined : message.round,
    createdAt: message.createdAt === timeOfId(message.id) ? undefined : message.createdAt,
    parts: message.parts.length === 0 ? undefined : message.parts.map((part) => compactPart(part, calls)),
    toolCalls: calls.length === 0 ? undefined : calls.map(compactCall),
    usage: special.usage && compactUsage(special.usage),
    output: special.output && compactOutput(special.output),
  }
  return JSON.stringify(shortened({ ...message, ...columns, ...compact }, NAMES))
}

/** The message whose columns and text these are. */
export function decodeBody(columns: MessageColumns, body: string): Message {
  const fields = lengthened(JSON.parse(body) as Record<string, unknown>, NAMES)
  const special: CompactSpecial = fields
  const calls = (special.toolCalls ?? []).map(wholeCall)
  const message = {
    ...columns,
    round: 0,
    createdAt: 0,
    ...fields,
    parts: (special.parts ?? []).map((part) => wholePart(part, calls)),
    ...(columns.role === 'assistant' ? { toolCalls: calls } : {}),
    ...(special.usage === undefined ? {} : { usage: wholeUsage(special.usage) }),
    ...(special.output === undefined ? {} : { output: wholeOutput(special.output) }),
  }
  if (fields['createdAt'] === undefined) message.createdAt = timeOfId(columns.id)
  // `encodeBody` wrote the text from a message of this role.
  return message as unknown as Message
}

/** Whether a stored message says the same as one that is about to be stored. */
export function isSameMessage(stored: Message | undefined, message: Message): boolean {
  return stored !== undefined && isDeepStrictEqual(asJson(stored), asJson(message))
}

const asJson = (message: Message): unknown => JSON.parse(JSON.stringify(message))

/** Plain text is its string; a call that the message has is its place among the calls. */
function compactPart(part: Part, calls: readonly ToolCall[]): CompactPart {
  if (part.type === 'text' && part.provider === undefined) return part.text
  if (part.type !== 'tool_call') return part
  const place = calls.findIndex((call) => call.id === part.id)
  return place === -1 ? part : place
}

function wholePart(compact: CompactPart, calls: readonly ToolCall[]): Part {
  if (typeof compact === 'string') return { type: 'text', text: compact }
  return typeof compact === 'number' ? { type: 'tool_call', id: calls[compact]?.id ?? '' } : compact
}

function compactCall(call: ToolCall): CompactCall {
  return call.provider === undefined ? [call.id, call.name, call.arguments] : call
}

function wholeCall(compact: CompactCall): ToolCall {
  if (!isTriple(compact)) return compact
  const [id, name, rawArguments] = compact
  return { id, name, arguments: rawArguments }
}

const isTriple = (compact: CompactCall): compact is readonly [string, string, string] => Array.isArray(compact)

function compactOutput({ bytes, lines, sha256, mediaType, object }: Output): CompactOutput {
  return object === undefined ? [bytes, lines, sha256, mediaType] : [bytes, lines, sha256, mediaType, object]
}

function wholeOutput([bytes, lines, sha256, mediaType, object]: CompactOutput): Output {
  return { bytes, lines, sha256, mediaType, ...(object === undefined ? {} : { object }) }
}
