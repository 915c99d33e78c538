import type { AssistantMessage, ParentNames, ToolMessage, UserMessage } from './messages/message.ts'
import type { EventPosition } from './runs/event-position.ts'
import type { Run, WarningCode } from './runs/run.ts'

/** Fields of every event. On a team member's events, `agent` and the fields of the delegate call are set. */
interface EventBase extends ParentNames {
  readonly runId: string
  readonly agent?: string
}
/**
 * A stored event: its content is durable before the event is emitted. `id` is `<ULID of the message or run>:<type>`. A
 * live event and the same event derived from the log have the same id, so consumers may drop ids that they have
 * received.
 */
interface StoredBase extends EventBase {
  readonly id: string
}

/**
 * Fields of an event whose position is not stored in a message: the event has no message, or its message has no
 * position.
 */
interface Positioned {
  readonly position?: EventPosition
}

export type RunStateEvent = StoredBase & {
  readonly type: 'run.queued' | 'run.resumed' | 'run.paused' | 'run.completed' | 'run.failed' | 'run.cancelled'
  readonly run: Run
  /**
   * Set in events for followers if the run's input is not a message yet. The event's `run` lacks the input, so the code
   * that shows the event must read the input.
   */
  readonly hasInput?: true
  /** On `run.paused`: the calls that the run waits for. */
  readonly waiting?: readonly ToolMessage[]
}
/** `message` is absent if the run continues without input. */
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

/** A piece of a completion that a model streams. */
export type Delta =
  | { readonly type: 'text.delta' | 'reasoning.delta'; readonly part: number; readonly text: string }
  | {
      readonly type: 'tool_call.delta'
      readonly sequence: number
      readonly toolCallId: string
      readonly toolName: string
      readonly arguments: string
    }
export type DeltaEvent = EventBase & { readonly round: number } & Delta
/** The progress that a call's tool reports. It is provisional, like a delta, and not part of the result. */
export interface CallProgress {
  readonly progress: number
  readonly total?: number
  readonly text?: string
}
export type CallProgressEvent = EventBase &
  CallProgress & {
    readonly type: 'tool_call.progress'
    /** The id of the call's message. */
    readonly messageId: string
    readonly toolCallId: string
    readonly toolName: string
  }
/** `attempt`: the number of the attempt whose deltas follow. Absent for the first attempt. */
export type RoundEvent = EventBase & { readonly round: number; readonly attempt?: number } & (
    | { readonly type: 'round.started' }
    /** Consumers must discard the deltas of this round. */
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

/** All events of a run. Code that shows progress must handle the whole union. */
export type RunEvent = StoredEvent | DeltaEvent | RoundEvent | CallProgressEvent
export type RunEventType = RunEvent['type']

/**
 * The reason of a `round.restarted` event whose round is streamed again from its start. The repeated content is equal,
 * unless the process lost the run and resumed it.
 */
export const STREAMED_AGAIN = 'resumed'

export const eventId = (ulid: string, type: RunEventType): string => `${ulid}:${type}`

/**
 * Whether an event ends a run's live stream. A pause does so only if the event is live: after a pause that was read
 * from the log, the run may have been resumed.
 */
export const isTerminal = (event: RunEvent): boolean =>
  event.type === 'run.completed' ||
  event.type === 'run.failed' ||
  event.type === 'run.cancelled' ||
  event.type === 'run.paused'
