import { definedFields } from '../defined-fields.ts'
import type { Feedback } from './feedback.ts'
import type { Json, JsonObject } from '../json.ts'
import type { EventPosition } from '../runs/event-position.ts'
import type { NumberedSources, Source } from './source.ts'
import type { Usage } from '../usage/usage.ts'

/** What a provider attached to a part (signatures, encrypted content, item ids): provider name → its own data. */
export type ProviderMetadata = { readonly [provider: string]: JsonObject }

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly provider?: ProviderMetadata
}
export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly provider?: ProviderMetadata
}
/** Where a call stands among the parts of an assistant message; the call itself is in `toolCalls`. */
export interface ToolCallPart {
  readonly type: 'tool_call'
  readonly id: string
}
/** Bytes kept in the output store under the object name `id`; never in a row. */
export interface MediaPart {
  readonly type: 'image' | 'file'
  readonly id: string
  readonly mediaType: string
  readonly filename?: string
  readonly bytes: number
}
/** Text for the model that stands in for media in later runs; written once, not shown to people. */
export interface NotePart {
  readonly type: 'note'
  readonly text: string
}
/** What a tool returned beside its text, for programs: no model sees it. */
export interface DataPart {
  readonly type: 'data'
  readonly data: Json
}
/** An error of the model: shown to people, never sent to a model. */
export interface ErrorPart {
  readonly type: 'error'
  readonly code: RunErrorCode
  readonly text: string
}
export type Part = TextPart | ReasoningPart | ToolCallPart | MediaPart | NotePart | DataPart | ErrorPart
export type UserPart = TextPart | MediaPart | NotePart
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart | ErrorPart
export type ToolPart = TextPart | MediaPart | NotePart | DataPart

export type RunErrorCode =
  | 'timeout'
  | 'network'
  | 'rate_limited'
  | 'refused'
  | 'context_length'
  | 'authentication'
  | 'invalid_request'
  | 'provider_error'
  | 'crashed_repeatedly'
  | 'storage'

/** A call as the model sent it: `arguments` is the raw string, malformed JSON included. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly provider?: ProviderMetadata
}

/**
 * The state of a tool call. `approved` is internal (the API shows `running`): approved by a person and not begun, so a
 * takeover may still begin it.
 */
export type ToolStatus =
  | 'running'
  | 'waiting'
  | 'approved'
  | 'completed'
  | 'error'
  | 'interrupted'
  | 'cancelled'
  | 'denied'

/** Calls of one round that are executed; calls beyond them get an error (promises T2). */
export const MAX_ROUND_CALLS = 64

export const OPEN_STATUSES: readonly ToolStatus[] = ['running', 'waiting', 'approved']

/** The result text of a call that returned no result. */
export const STATUS_TEXT = {
  interrupted: 'interrupted: this call may or may not have run',
  cancelled: 'cancelled: this call did not finish',
  denied: 'denied: the user did not allow this call',
} as const

/** The whole content of a tool result: where it is and how large. */
export interface Output {
  /** Size of the content as stored and downloaded, encoded as the media type says. */
  readonly bytes: number
  readonly lines: number
  /** SHA-256 of the bytes, in hex. */
  readonly sha256: string
  /** The charset is UTF-8 unless it names another (`log/output-encoding.ts`). */
  readonly mediaType: string
  /** The object's name in the output store, when offloaded; the message then keeps a preview. */
  readonly object?: string
}

/** What a person has decided on a call that needs an approval. */
export interface ApprovalDecision {
  readonly approved: boolean
  /** Who, where the channel knows it. */
  readonly by?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A source as its result's row keeps it: a large text is a preview, and `output` says where the whole is. */
export interface StoredSource extends Source {
  readonly output?: Output
}

interface MessageBase {
  /** ULID, greater than every id before it in this log. */
  readonly id: string
  readonly runId: string
  readonly agent: string
  /** Set on a team member's messages: the delegate call that the member works for, by its id, */
  readonly parentToolCallId?: string
  /** and by its row: ids of calls may repeat. */
  readonly parentMessageId?: string
  /** Counts from 0 within a run. */
  readonly round: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** When an imported message came in, in milliseconds since 1970: `createdAt` is then what its source says. */
  readonly recordedAt?: number
  /** Where its event stands among those of its run; of a call, the event of its end. Absent where no holder emitted it. */
  readonly position?: EventPosition
}

export interface UserMessage extends MessageBase {
  readonly role: 'user'
  readonly parts: readonly UserPart[]
  readonly user?: string
  readonly metadata?: JsonObject
}

export interface AssistantMessage extends MessageBase {
  readonly role: 'assistant'
  readonly parts: readonly AssistantPart[]
  readonly toolCalls: readonly ToolCall[]
  /** `provider/model`. Absent on messages that no model wrote (`crashed_repeatedly`). */
  readonly model?: string
  readonly finishReason?: string
  readonly usage?: Usage
  /** Numbers that this message's request gave to sources of earlier results, and that nobody has recorded before. */
  readonly numbered?: readonly NumberedSources[]
  /** Its loop has searched the history by now: the text may tell what was said before. */
  readonly searched?: true
  /** What people think of it: one rating a person. Comes after the message was stored. */
  readonly feedback?: readonly Feedback[]
}

export interface ToolMessage extends MessageBase {
  readonly role: 'tool'
  readonly assistantMessageId: string
  readonly toolCallId: string
  readonly toolName: string
  /** The compact call text, `name(key=value)`, made from the raw arguments. */
  readonly call: string
  /** Place within its round's batch, from 0. */
  readonly sequence: number
  readonly status: ToolStatus
  /** What a `waiting` call waits for. Kept afterwards. */
  readonly needs?: 'result' | 'approval'
  /** Empty until the call ends. */
  readonly parts: readonly ToolPart[]
  readonly output?: Output
  /** In the tool's order; not numbered, because numbers are given when a request is made of them. */
  readonly sources?: readonly StoredSource[]
  readonly completedAt?: number
  readonly durationMs?: number
  /** Of a delegate call: whoever gave the task, or works on it, has searched the history: both may tell what was said before. */
  readonly searched?: true
  /** Generation of the lease whose holder may end this call. */
  readonly generation: number
  readonly decision?: ApprovalDecision
  /** Hash of the resolution that closed a `waiting` call: tells a repeated one from a different one. */
  readonly resolutionHash?: string
}

export type Message = UserMessage | AssistantMessage | ToolMessage

/** The fields of a message or an event that name the delegate call whose member it belongs to; none of the leader's. */
export type ParentNames = Pick<MessageBase, 'parentToolCallId' | 'parentMessageId'>

/** Picks them from something that has more fields. */
export const parentNames = ({ parentToolCallId, parentMessageId }: ParentNames): ParentNames =>
  definedFields({ parentToolCallId, parentMessageId })

/** Whether a message or an event is the leader's: a team member's names the leader's call that it works for. */
export const isLeaders = (one: { readonly parentToolCallId?: string }): boolean => one.parentToolCallId === undefined

/** A message as its run stored it: without what people think of it, which they may say at any time. */
export function unrated(message: Message): Message {
  if (message.role !== 'assistant') return message
  const { feedback: _, ...rest } = message
  return rest
}

/** What a model is shown of an output that it may read, and `read_output` takes. */
export const pointerTo = (messageId: string): string => `output:${messageId}`

/** The text of a message's text parts, in order. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}
