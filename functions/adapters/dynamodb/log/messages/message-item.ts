import { isDeepStrictEqual } from 'node:util'
import { MIN_CHUNK_CHARACTERS } from '../../../../search/documents/chunks.ts'
import { historyDocuments, offloadedBytes, shownText } from '../../../../search/documents/documents.ts'
import { unrated } from '../../../../domain/messages/message.ts'
import type {
  ApprovalDecision,
  Message,
  Output,
  StoredSource,
  ToolMessage,
  ToolPart,
  ToolStatus,
} from '../../../../domain/messages/message.ts'
import type { Feedback } from '../../../../domain/messages/feedback.ts'
import type { EventPosition } from '../../../../domain/runs/event-position.ts'
import { definedFields } from '../../../../domain/defined-fields.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { numberAt, requiredText, textAt, toItem, type Item } from '../../attributes.ts'
import { joined, type Bodies, type Text, type TextFields } from './bodies.ts'
import { absent, all, is, type Change, type Condition } from '../../expressions.ts'
import { messageKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { BYTES_AT_ONCE, bytesOf } from '../write-limits.ts'
import { readJson } from '../../../../log/json/exact-json.ts'

/** The result of a call. It is written once, when the call ends, so that it can be stored without reading the row. */
interface Result {
  readonly parts: readonly ToolPart[]
  readonly output?: Output
  readonly sources?: readonly StoredSource[]
  readonly completedAt?: number
  readonly durationMs?: number
  readonly position?: EventPosition
  /** This field is stored with the result, and also in the immutable part of the row. */
  readonly searched?: true
}

/**
 * The fields in the immutable part of a row. All other fields are in the result, or are separate attributes that later
 * writes check or change.
 */
type Fixed = Omit<Message, 'id' | 'status' | 'generation' | 'resolutionHash' | 'decision' | 'feedback' | keyof Result>

const RESULT_FIELDS = [
  'parts',
  'output',
  'sources',
  'completedAt',
  'durationMs',
  'position',
] as const satisfies readonly (keyof Result)[]

/** Returns the texts of a new message. Store them before `putMessage` is written. */
export function textsOfMessage(message: Message): Text[] {
  const { id } = message
  if (message.role !== 'tool')
    return [{ id, attribute: 'body', text: JSON.stringify({ ...message, id: undefined, feedback: undefined }) }]
  const unset = { id: undefined, status: undefined, generation: undefined }
  const apart = { ...unset, resolutionHash: undefined, decision: undefined }
  const noResult = Object.fromEntries(RESULT_FIELDS.map((field) => [field, undefined]))
  const body: Text = { id, attribute: 'body', text: JSON.stringify({ ...message, ...apart, ...noResult }) }
  const hasResult = message.parts.length > 0 || message.completedAt !== undefined || message.output !== undefined
  return hasResult ? [body, textOfResult(id, message)] : [body]
}

/** Returns the text of a result. Store it before the row is changed. */
export function textOfResult(id: string, result: Result): Text {
  const { parts, output, sources, completedAt, durationMs, searched, position } = result
  return {
    id,
    attribute: 'result',
    text: JSON.stringify({
      parts,
      output,
      sources,
      completedAt,
      durationMs,
      searched,
      position,
    } satisfies Unset<Result>),
  }
}
type Unset<T> = { readonly [field in keyof T]: T[field] | undefined }

/** Returns the action that creates a message whose texts are stored. */
export function putMessage(key: SessionKey, message: Message, texts: readonly TextFields[]): Action {
  const tool = message.role === 'tool' ? message : undefined
  const feedback = message.role === 'assistant' ? message.feedback : undefined
  const item = toItem({
    ...messageKey(key, message.id),
    run: message.runId,
    role: message.role,
    status: tool?.status,
    gen: tool?.generation,
    resolution_hash: tool?.resolutionHash,
    decision: jsonText(tool?.decision),
    feedback: jsonText(feedback),
    rev: 1,
    documents: countDocuments(message),
    ...joined(texts),
  })
  return { put: item, when: absent('pk') }
}

/** Returns a decision or feedback as JSON text; undefined if there is none. */
export const jsonText = (value: ApprovalDecision | readonly Feedback[] | undefined): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value)

/** Adds an increment of the row's revision to a change, so that a projection can order the states of a row. */
export function changeMessage(change: Change): Change {
  return { ...change, add: { ...change.add, rev: 1 } }
}

/** Whether the row is a call with this status and this holder's generation. */
export const isCall = (status: ToolStatus, generation: number): Condition =>
  all(is('status', status), is('gen', generation))

/** Returns the complete message of an item. Spilled texts are read back. */
export async function messageOf(bodies: Bodies, key: SessionKey, item: Item): Promise<Message> {
  const id = requiredText(item, 'sk')
  const [body, result] = await Promise.all([bodies.read(key, item, 'body'), bodies.read(key, item, 'result')])
  if (body === undefined) throw new Error(`message ${id} has no body`)
  const fixed = readJson(body) as Fixed
  if (fixed.role !== 'tool') return { id, ...fixed, ...parsedField(item, 'feedback') } as Message
  const resolutionHash = textAt(item, 'resolution_hash')
  return {
    id,
    ...fixed,
    parts: [],
    ...(result === undefined ? {} : (readJson(result) as Result)),
    status: requiredText(item, 'status') as ToolStatus,
    generation: numberAt(item, 'gen') ?? 0,
    ...definedFields({ resolutionHash }),
    ...parsedField(item, 'decision'),
  } as ToolMessage
}

function parsedField(item: Item, name: 'feedback' | 'decision'): object {
  const text = textAt(item, name)
  return text === undefined ? {} : { [name]: readJson(text) as unknown }
}

/** Like `messageOf`, for an item that must be a tool message. */
export async function toolMessageOf(bodies: Bodies, key: SessionKey, item: Item): Promise<ToolMessage> {
  const message = await messageOf(bodies, key, item)
  if (message.role !== 'tool') throw new Error(`message ${message.id} is no call`)
  return message
}

/** Maximum number of message rows per write. DynamoDB allows 100 items, including the header, the run and others. */
const ROWS_AT_ONCE = 80

/** Returns the first calls that one atomic write can change. */
export function batchOf(calls: readonly ToolMessage[]): readonly ToolMessage[] {
  let bytes = 0
  const end = calls.findIndex((call, place) => {
    bytes += bytesOf(call)
    return place > 0 && (place >= ROWS_AT_ONCE || bytes > BYTES_AT_ONCE)
  })
  return end < 0 ? calls : calls.slice(0, end)
}

/** Whether a stored message equals one that is about to be stored, apart from ratings. */
export const isSame = (stored: Message, message: Message): boolean =>
  isDeepStrictEqual(unrated(stored), readJson(JSON.stringify(message)))

/**
 * Returns the maximum number of history documents of a message. It is stored in the row, so that the documents can be
 * deleted without the message's text.
 */
function countDocuments(message: Message): number {
  const tool = message.role === 'tool' ? message : undefined
  const content = { text: shownText(message), call: tool?.call ?? '' }
  const shown = historyDocuments(message, { key: { tenant: '', session: '' } }, content).length
  return shown + (tool === undefined ? 0 : Math.ceil(offloadedBytes(tool) / MIN_CHUNK_CHARACTERS))
}

/** Returns the number of documents that a result adds to those of its call. */
export function documentsOfResult({ parts, output, sources }: Result): number {
  const result = { parts, ...definedFields({ output, sources }) }
  const [call, text] = ['', shownText(result)]
  const message = { role: 'tool', parts, output, call } as unknown as ToolMessage
  const shown = historyDocuments(message, { key: { tenant: '', session: '' } }, { text, call }).length
  return shown + Math.ceil(offloadedBytes(result) / MIN_CHUNK_CHARACTERS)
}
