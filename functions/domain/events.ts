import type { AssistantMessage, ParentNames, ToolMessage, UserMessage } from './messages/message.ts'
import type { EventPosition } from './runs/event-position.ts'
import type { Run, WarningCode } from './runs/run.ts'

/** Fields of every event. `agent` and the names of the delegate call are set on a team member's events. */
interface EventBase extends ParentNames {
  readonly runId: string
  readonly agent?: string
}
/**
 * What a stored event reports is durable before it is emitted. `id` is `<ULID of the message or run>:<type>`, the same
 * whether the event is seen live or derived from the log, so consumers may drop ids they have seen.
 */
interface StoredBase extends EventBase {
  readonly id: string
}

/** Set where the event has no message that says it. */
interface Positioned {
  readonly position?: EventPosition
}

export type RunStateEvent = StoredBase & {
  readonly type: 'run.queued' | 'run.resumed' | 'run.paused' | 'run.completed' | 'run.failed' | 'run.cancelled'
  readonly run: Run
  /** Set for who follows a run whose input is no message: `run` goes without it, and whoever shows it reads it. */
  readonly hasInput?: true
  /** Set on `run.paused`: the calls that wait. */
  readonly waiting?: readonly ToolMessage[]
}
/** `message` is absent on a run that continues without input. */
export type RunStartedEvent = StoredBase & {
  readonly type: 'run.started'
  readonly run: Run
  readonly message?: UserMessage
}
export type MessageCompletedEvent = StoredBase & {
  readonly type: 'message.completed'
  readonly message: AssistantMessage
}
/** A queued input has become a message of the run, between two of its rounds. */
export type MessageSteeredEvent = StoredBase & {
  readonly type: 'message.steered'
  readonly message: UserMessage
}
export type ToolCallEvent = StoredBase & {
  readonly type: 'tool_call.started' | 'tool_call.completed'
  readonly message: ToolMessage
}
export type StoredEvent =
  | RunStateEvent
  | RunStartedEvent
  | MessageCompletedEvent
  | MessageSteeredEvent
  | ToolCallEvent
  | ContextEvent
  | WarningEvent

export type DeltaEvent = EventBase & { readonly round: number } & (
    | { readonly type: 'text.delta' | 'reasoning.delta'; readonly part: number; readonly text: string }
    | {
        readonly type: 'tool_call.delta'
        readonly sequence: number
        readonly toolCallId: string
        readonly toolName: string
        readonly arguments: string
      }
  )
/** How far a call is, as its tool says. Provisional like deltas, and one of many: what it says is not the result. */
export interface CallProgress {
  readonly progress: number
  readonly total?: number
  readonly text?: string
}
export type CallProgressEvent = EventBase &
  CallProgress & {
    readonly type: 'tool_call.progress'
    /** The call's message. */
    readonly messageId: string
    readonly toolCallId: string
    readonly toolName: string
  }
export type RoundEvent = EventBase & { readonly round: number } & (
    | { readonly type: 'round.started' }
    /** Discard the deltas of this round. */
    | { readonly type: 'round.restarted'; readonly reason: string }
  )
export type ContextEvent = StoredBase &
  Positioned &
  (
    | { readonly type: 'context.nearly_full'; readonly messages: number; readonly threshold: number }
    | { readonly type: 'context.consolidated'; readonly through: string; readonly messages: number }
  )
export type WarningEvent = StoredBase &
  Positioned & {
    readonly type: 'warning'
    readonly code: WarningCode
    readonly detail: string
  }

/** Everything that shows progress handles this whole union. */
export type RunEvent = StoredEvent | DeltaEvent | RoundEvent | CallProgressEvent
export type RunEventType = RunEvent['type']

/** The reason of a `round.restarted` behind which a round follows from its start, as it was unless its process lost the run. */
export const STREAMED_AGAIN = 'resumed'

export const eventId = (ulid: string, type: RunEventType): string => `${ulid}:${type}`

/** The events after which a stream of a run ends, if it comes to them live: a pause may be over. */
export const isTerminal = (event: RunEvent): boolean =>
  event.type === 'run.completed' ||
  event.type === 'run.failed' ||
  event.type === 'run.cancelled' ||
  event.type === 'run.paused'
