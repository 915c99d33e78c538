import type { Feedback } from './feedback.ts'
import type { Json, JsonObject } from '../json.ts'
import type { ApprovalDecision, AssistantPart, TextPart, ToolCall, ToolStatus } from './message.ts'
import type { Source } from './source.ts'
import type { Usage } from '../usage/usage.ts'

/** Media with its bytes, which are not in our output store. */
export interface ClosedMedia {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly data: Uint8Array
}
export type ClosedPart = TextPart | ClosedMedia

/**
 * A call that a member may work for, or whose result has sources: one object for the result, all messages of that member, and the
 * completion that numbers the sources.
 */
export interface MemberCall {
  readonly toolCallId: string
  /** Its place in the message that has it, */
  readonly sequence: number
  /** and the call for which that message's agent works itself. */
  readonly parentToolCallId?: string
  /** How many sources its result has; left out: none. */
  readonly sources?: number
}

/** The numbers of the sources of these results, one after the other. */
export interface ClosedNumbers {
  readonly from: number
  readonly results: readonly MemberCall[]
}

interface ClosedBase {
  /** Left out: the session's. */
  readonly agent?: string
  readonly parentToolCallId?: string
  /** The call of that id, if its result came before. */
  readonly parent?: MemberCall
  /** Left out: counted. */
  readonly round?: number
  /** Milliseconds since 1970. Left out: when it comes in. */
  readonly createdAt?: number
  /** Its run in the log that it comes from: messages in a row with the same one become one run. */
  readonly run?: string
}

export interface ClosedUserMessage extends ClosedBase {
  readonly role: 'user'
  readonly parts: readonly ClosedPart[]
  readonly user?: string
  readonly metadata?: JsonObject
}

export interface ClosedAssistantMessage extends ClosedBase {
  readonly role: 'assistant'
  readonly parts: readonly AssistantPart[]
  readonly toolCalls: readonly ToolCall[]
  readonly model?: string
  readonly finishReason?: string
  readonly searched?: true
  readonly usage?: Usage
  /** Numbers that it records; they are kept where no other source of the session has one of them. */
  readonly numbered?: ClosedNumbers
  readonly feedback?: readonly Feedback[]
}

export interface ClosedToolMessage extends ClosedBase {
  readonly role: 'tool'
  /** The message that has the call, which came before. */
  readonly of: ClosedAssistantMessage
  /** The call's place in it. */
  readonly sequence: number
  /** As messages of a member that come later name this call. */
  readonly named?: MemberCall
  readonly status: ToolStatus
  readonly parts: readonly ClosedPart[]
  /** What it returned for programs. */
  readonly data?: Json
  /** Of its output; undefined where the call has none. */
  readonly mediaType?: string
  /** With their texts whole. Where no completion here records numbers of them, the next request gives them some. */
  readonly sources?: readonly Source[]
  readonly completedAt?: number
  readonly durationMs?: number
  readonly searched?: true
  readonly decision?: ApprovalDecision
}

/** A message of another log as it comes in: without ids of ours, its contents whole, its calls ended. */
export type ClosedMessage = ClosedUserMessage | ClosedAssistantMessage | ClosedToolMessage

/** The media type of outputs that name none. */
export const PLAIN_TEXT = 'text/plain; charset=utf-8'

/** The source is not what it says: where, and why. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
  readonly errors: readonly { readonly path: string; readonly message: string }[]

  constructor(errors: readonly { readonly path: string; readonly message: string }[]) {
    super(errors.map(({ path, message }) => `${path} ${message}`).join('; '))
    this.errors = errors
  }
}
