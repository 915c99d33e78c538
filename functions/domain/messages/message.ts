import { definedFields } from '../defined-fields.ts'
import type { Feedback } from './feedback.ts'
import type { Json, JsonObject } from '../json.ts'
import type { EventPosition } from '../runs/event-position.ts'
import type { NumberedSources, Source } from './source.ts'
import type { Usage } from '../usage/usage.ts'

/** Data that a provider attached to a part (signatures, encrypted content, item ids): provider name → its own data. */
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
/** The position of a call among the parts of an assistant message; the call itself is in `toolCalls`. */
export interface ToolCallPart {
  readonly type: 'tool_call'
  readonly id: string
}
/** An image or file. Its bytes are in the output store under the object name `id`, never in a row. */
export interface MediaPart {
  readonly type: 'image' | 'file'
  readonly id: string
  readonly mediaType: string
  readonly filename?: string
  readonly bytes: number
}
/** Text that the model gets in later runs in place of media. It is written once and not shown to people. */
export interface NotePart {
  readonly type: 'note'
  readonly text: string
}
/** A tool's output for programs, besides its text; no model sees it. */
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

/** A call as the model sent it. `arguments` is the raw string, which may be malformed JSON. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly provider?: ProviderMetadata
}

/**
 * The status of a tool call. `approved` is internal (the API shows `running`): a person has approved the call and it
 * has not started, so a new holder may still start it.
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

/** Limit of the calls of one round that are executed; further calls get an error (promises T2). */
export const MAX_ROUND_CALLS = 64

export const OPEN_STATUSES: readonly ToolStatus[] = ['running', 'waiting', 'approved']

/** The result text of a call that returned no result. */
export const STATUS_TEXT = {
  interrupted: 'interrupted: this call may or may not have run',
  cancelled: 'cancelled: this call did not finish',
  denied: 'denied: the user did not allow this call',
} as const

/** The location and size of a tool result's full content. */
export interface Output {
  /** Size in bytes of the content as stored and downloaded, in the encoding that the media type names. */
  readonly bytes: number
  readonly lines: number
  /** SHA-256 of the bytes, in hex. */
  readonly sha256: string
  /** The media type. The charset is UTF-8 unless the type names another one (`log/output-encoding.ts`). */
  readonly mediaType: string
  /** The object's name in the output store if the content is offloaded; the message then keeps a preview. */
  readonly object?: string
}

/** A person's decision on a call that needs an approval. */
export interface ApprovalDecision {
  readonly approved: boolean
  /** The person, if the channel knows it. */
  readonly by?: string
  /** Time of the decision, in milliseconds since 1970. */
  readonly at: number
}

/** A source as stored in its result's row. A large text is a preview, and `output` locates the full text. */
export interface StoredSource extends Source {
  readonly output?: Output
}

interface MessageBase {
  /** A ULID, greater than all earlier ids of this log. */
  readonly id: string
  readonly runId: string
  readonly agent: string
  /** On a team member's messages: the id of the delegate call that the member works for. */
  readonly parentToolCallId?: string
  /** The id of the delegate call's row. It is unique; ids of calls may repeat. */
  readonly parentMessageId?: string
  /** The round within the run, counted from 0. */
  readonly round: number
  /** Creation time, in milliseconds since 1970. */
  readonly createdAt: number
  /**
   * Time when an imported message was stored, in milliseconds since 1970. Its `createdAt` is the time that its source
   * recorded.
   */
  readonly recordedAt?: number
  /**
   * The position of the message's event among the events of its run. For a call, this is the position of the call's end
   * event. Absent if no holder emitted the event.
   */
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
  /** The requested model (`provider/model`), if the provider named another model in its response. */
  readonly requestedModel?: string
  readonly finishReason?: string
  /** The number of the attempt that returned this completion. Absent for the first attempt. */
  readonly attempt?: number
  readonly usage?: Usage
  /** Numbers of the sources that were first used in the request for this message. This message records the numbers. */
  readonly numbered?: readonly NumberedSources[]
  /** Set if the thread of this message has searched the history before: the text may repeat search results. */
  readonly searched?: true
  /** People's ratings, one per person. They are added after the message was stored. */
  readonly feedback?: readonly Feedback[]
}

export interface ToolMessage extends MessageBase {
  readonly role: 'tool'
  readonly assistantMessageId: string
  readonly toolCallId: string
  readonly toolName: string
  /** The compact call text, `name(key=value)`, made from the raw arguments. */
  readonly call: string
  /** The call's index in its round, from 0. */
  readonly sequence: number
  readonly status: ToolStatus
  /** The reason why a `waiting` call waits; kept afterwards. */
  readonly needs?: 'result' | 'approval'
  /** Set if a client tool replaced the agent's tool of this name: the result comes from the client. */
  readonly origin?: 'client'
  /** The namespace of a client tool. The tool's name is the namespace, two underscores and the caller's own name. */
  readonly namespace?: string
  /** Empty until the call ends. */
  readonly parts: readonly ToolPart[]
  readonly output?: Output
  /** Sources in the tool's order. They have no numbers here, because numbers are assigned when a request is built. */
  readonly sources?: readonly StoredSource[]
  readonly completedAt?: number
  readonly durationMs?: number
  /**
   * For a delegate call: set if its leader or its member has searched the history. Texts of the two may repeat search
   * results.
   */
  readonly searched?: true
  /** Generation of the lease whose holder may end this call. */
  readonly generation: number
  readonly decision?: ApprovalDecision
  /** Hash of the resolution that closed a `waiting` call, to recognize a repeated one. */
  readonly resolutionHash?: string
}

export type Message = UserMessage | AssistantMessage | ToolMessage

/** The fields that name the delegate call of a member's message or event; absent for the leader's. */
export type ParentNames = Pick<MessageBase, 'parentToolCallId' | 'parentMessageId'>

/** Picks these fields from an object with more fields. */
export const parentNames = ({ parentToolCallId, parentMessageId }: ParentNames): ParentNames =>
  definedFields({ parentToolCallId, parentMessageId })

/**
 * Whether a message or an event is the leader's. A message or an event of a team member names the delegate call that
 * the member works for.
 */
export const isLeaders = (one: { readonly parentToolCallId?: string }): boolean => one.parentToolCallId === undefined

/** Returns a message without its ratings, as its run stored it. Ratings may be added at any time. */
export function unrated(message: Message): Message {
  if (message.role !== 'assistant') return message
  const { feedback: _, ...rest } = message
  return rest
}

/** The pointer by which a model names an output, and which `read_output` accepts. */
export const pointerTo = (messageId: string): string => `output:${messageId}`

/** The text of a message's text parts, in order. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}
