import type { Feedback } from './feedback.ts'
import type { Json, JsonObject } from '../json.ts'
import type { ApprovalDecision, AssistantPart, TextPart, ToolCall, ToolStatus } from './message.ts'
import type { Source } from './source.ts'
import type { Usage } from '../usage/usage.ts'

/** Media with its bytes, not yet in our output store. */
export interface ClosedMedia {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly data: Uint8Array
}
export type ClosedPart = TextPart | ClosedMedia

/**
 * A call that a member may execute, or whose result has sources. The call's result and all messages of the member refer
 * to the same object. So does the completion that gives numbers to the sources.
 */
export interface MemberCall {
  readonly toolCallId: string
  /** The call's index in its message. */
  readonly sequence: number
  /** The delegate call whose member made this call. */
  readonly parentToolCallId?: string
  /** Number of the result's sources; undefined if it has none. */
  readonly sources?: number
}

/** The numbers of these results' sources, one result after the other. */
export interface ClosedNumbers {
  readonly from: number
  readonly results: readonly MemberCall[]
}

interface ClosedBase {
  /** The message's agent; by default the session's. */
  readonly agent?: string
  readonly parentToolCallId?: string
  /** The call with the id `parentToolCallId`, if its result is earlier in the import. */
  readonly parent?: MemberCall
  /** The round within the run. By default, the import counts the rounds. */
  readonly round?: number
  /** Creation time in milliseconds since 1970; by default the time of the import. */
  readonly createdAt?: number
  /** The message's run in the original log. Consecutive messages with the same value become one run. */
  readonly run?: string
  /** The first run that superseded the message's run, in the original log. */
  readonly supersededBy?: string
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
  readonly requestedModel?: string
  readonly finishReason?: string
  readonly searched?: true
  readonly usage?: Usage
  /** Source numbers that this completion records. They are kept if no other source of the session has one of them. */
  readonly numbered?: ClosedNumbers
  readonly feedback?: readonly Feedback[]
}

export interface ClosedToolMessage extends ClosedBase {
  readonly role: 'tool'
  /** The earlier message that contains the call. */
  readonly of: ClosedAssistantMessage
  /** The call's index in that message. */
  readonly sequence: number
  /** Identifies this call: messages of its member have this object as `parent`. */
  readonly named?: MemberCall
  readonly status: ToolStatus
  /** Set if the client executed the call, as in messages of our own log. */
  readonly origin?: 'client'
  /** The namespace of the client tool, as in messages of our own log. */
  readonly namespace?: string
  readonly parts: readonly ClosedPart[]
  /** The result's data for programs. */
  readonly data?: Json
  /** The type of the call's output; undefined if the call has no output. */
  readonly mediaType?: string
  /**
   * The sources with their full texts. If no completion of the import records their numbers, the next request assigns
   * new ones.
   */
  readonly sources?: readonly Source[]
  readonly completedAt?: number
  readonly durationMs?: number
  readonly searched?: true
  readonly decision?: ApprovalDecision
}

/** A message imported from another log. It has its complete contents and none of our ids, and its calls have ended. */
export type ClosedMessage = ClosedUserMessage | ClosedAssistantMessage | ClosedToolMessage

/** The media type of outputs without one. */
export const PLAIN_TEXT = 'text/plain; charset=utf-8'

/** The import does not have the declared format. The error message names the fields and the reasons. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
  readonly errors: readonly { readonly path: string; readonly message: string }[]

  constructor(errors: readonly { readonly path: string; readonly message: string }[]) {
    super(errors.map(({ path, message }) => `${path} ${message}`).join('; '))
    this.errors = errors
  }
}
