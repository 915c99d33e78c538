import { sha256 } from '../../domain/hash.ts'
import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import type { ToolStatus } from '../../domain/messages/message.ts'
import { encodeOutput } from '../../log/formats/output-encoding.ts'
import { hasExactNumbers, readJson, withPlainNumbers } from '../../log/json/exact-json.ts'
import { jsonFault } from '../../log/json/json-size.ts'

/** Identifies a message within its conversation. A file's message and its stored row have the same digest. */
export interface Digest {
  /**
   * Digest of the content. Empty for results of log files, because two reads of such a file may give different outputs.
   */
  readonly text: string
  /** Digest of the content with rounded numbers, which earlier versions stored. Absent if it equals `text`. */
  readonly rounded?: string
  /** For a result: the id and the status of its call. */
  readonly call?: string
  readonly status?: ToolStatus
  /** For a message of a log file: its time, if the file has one. */
  readonly at?: string
}

/** The digest of a message of a file. `isLog`: see `FileSession`. */
export function digestOf(message: ClosedMessage, isLog: boolean): Digest {
  if (message.role !== 'tool') {
    const { role, parts, createdAt } = message
    const calls = message.role === 'assistant' ? message.toolCalls : []
    const rounded = calls.map((one) => ({ ...one, arguments: roundedJson(one.arguments) }))
    const texts = withRounded(spoken(role, parts, calls), spoken(role, parts, rounded))
    return { ...texts, ...(isLog && createdAt !== undefined && { at: timeOf(createdAt) }) }
  }
  const { of, sequence, status, parts, mediaType } = message
  const call = of.toolCalls[sequence]?.id ?? ''
  if (isLog) return { call, status, text: '' }
  const hash = (texts: readonly string[]): string =>
    mediaType === undefined ? hashOf(texts) : sha256(encodeOutput(texts.join('\n'), mediaType).bytes)
  const texts = textsOf(parts)
  return { call, status, ...withRounded(hash(texts), hash(texts.map(roundedJson))) }
}

/** A message as the API returns it. */
interface StoredMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly created_at: string
  readonly parts: readonly object[]
  readonly tool_calls?: Calls | undefined
  readonly tool_call_id?: string | undefined
  readonly status?: string | undefined
  readonly output?: { readonly sha256: string } | undefined
}

/** The digest of a session's stored message. */
export function digestOfStored(message: StoredMessage, isLog: boolean): Digest {
  const { role, parts, tool_calls: calls = [], created_at: at, tool_call_id: call = '', output } = message
  if (role !== 'tool') return { text: spoken(role, parts, calls), at }
  return { call, status: message.status as ToolStatus, text: isLog ? '' : (output?.sha256 ?? hashOf(textsOf(parts))) }
}

type Calls = readonly { readonly id: string; readonly name: string; readonly arguments: string }[]

const withRounded = (text: string, rounded: string): Pick<Digest, 'text' | 'rounded'> =>
  rounded === text ? { text } : { text, rounded }

/** Returns JSON with rounded numbers, as earlier versions wrote it. Returns other texts unchanged. */
function roundedJson(text: string): string {
  if (!/^[[{]/u.test(text) || jsonFault(text) !== undefined || !hasExactNumbers(text)) return text
  try {
    return JSON.stringify(withPlainNumbers(readJson(text)))
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

const spoken = (role: string, parts: readonly object[], calls: Calls): string =>
  hashOf([role, ...textsOf(parts), ...parts.map(bytesOf), ...calls.map((one) => [one.id, one.name, one.arguments])])

const hashOf = (value: unknown): string => sha256(JSON.stringify(value, wellFormed)).slice(0, 16)

/** Replaces unpaired surrogates, because a store may not keep them. */
const wellFormed = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value

const textsOf = (parts: readonly object[]): string[] =>
  parts.flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : []))

/** The size of an image or a file. */
const bytesOf = (part: object): number =>
  'data' in part && part.data instanceof Uint8Array ? part.data.length : 'bytes' in part ? Number(part.bytes) : 0

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()
