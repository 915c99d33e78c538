import { sha256 } from '../../domain/hash.ts'
import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import type { ToolStatus } from '../../domain/messages/message.ts'
import { encodeOutput } from '../../log/formats/output-encoding.ts'

/** What tells a message from the others of its conversation: the same for one of a file and for the row that it became. */
export interface Digest {
  /** Of what it says. Of results of log files empty: they have more, or less, of an output from one run to the next. */
  readonly text: string
  /** Of a result: its call's id, and how the call ended. */
  readonly call?: string
  readonly status?: ToolStatus
  /** Of a message of a log file: when it was said, if the file says so. */
  readonly at?: string
}

/** Of a message of a file. `isLog`: see `FileSession`. */
export function digestOf(message: ClosedMessage, isLog: boolean): Digest {
  if (message.role !== 'tool') {
    const { role, parts, createdAt } = message
    const calls = message.role === 'assistant' ? message.toolCalls : []
    return { text: spoken(role, parts, calls), ...(isLog && createdAt !== undefined && { at: timeOf(createdAt) }) }
  }
  const { of, sequence, status, parts, mediaType } = message
  const call = of.toolCalls[sequence]?.id ?? ''
  if (isLog || mediaType === undefined) return { call, status, text: isLog ? '' : hashOf(textsOf(parts)) }
  const whole = encodeOutput(textsOf(parts).join('\n'), mediaType).bytes
  return { call, status, text: sha256(whole) }
}

/** A message as the API shows it. */
interface StoredMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly created_at: string
  readonly parts: readonly object[]
  readonly tool_calls?: Calls | undefined
  readonly tool_call_id?: string | undefined
  readonly status?: string | undefined
  readonly output?: { readonly sha256: string } | undefined
}

/** Of a message that a session has. */
export function digestOfStored(message: StoredMessage, isLog: boolean): Digest {
  const { role, parts, tool_calls: calls = [], created_at: at, tool_call_id: call = '', output } = message
  if (role !== 'tool') return { text: spoken(role, parts, calls), at }
  return { call, status: message.status as ToolStatus, text: isLog ? '' : (output?.sha256 ?? hashOf(textsOf(parts))) }
}

type Calls = readonly { readonly id: string; readonly name: string; readonly arguments: string }[]

const spoken = (role: string, parts: readonly object[], calls: Calls): string =>
  hashOf([role, ...textsOf(parts), ...parts.map(bytesOf), ...calls.map((one) => [one.id, one.name, one.arguments])])

const hashOf = (value: unknown): string => sha256(JSON.stringify(value, wellFormed)).slice(0, 16)

/** A store may keep no halves of surrogate pairs. */
const wellFormed = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value

const textsOf = (parts: readonly object[]): string[] =>
  parts.flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : []))

/** How many an image or a file has. */
const bytesOf = (part: object): number =>
  'data' in part && part.data instanceof Uint8Array ? part.data.length : 'bytes' in part ? Number(part.bytes) : 0

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()
