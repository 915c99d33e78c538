import type { AssistantMessage, ToolMessage, UserMessage } from './message.ts'
import type { Run } from './run.ts'

/** What every event says. `agent` and `parentToolCallId` are set on a team member's events. */
interface EventBase {
  readonly runId: string
  readonly agent?: string
  readonly parentToolCallId?: string
}
/**
 * What a stored event reports is durable before it is emitted. `id` is `<ULID of the message or run>:<type>`, the same
 * whether the event is seen live or derived from the log, so consumers may drop ids that they know.
 */
interface StoredBase extends EventBase {
  readonly id: string
}

export type RunStateEvent = StoredBase & {
  readonly type: 'run.queued' | 'run.resumed' | 'run.paused' | 'run.completed' | 'run.failed' | 'run.cancelled'
  readonly run: Run
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
export type ToolCallEvent = StoredBase & {
  readonly type: 'tool_call.started' | 'tool_call.completed'
  readonly message: ToolMessage
}
export type StoredEvent = RunStateEvent | RunStartedEvent | MessageCompletedEvent | ToolCallEvent

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
export type RoundEvent = EventBase & { readonly round: number } & (
    | { readonly type: 'round.started' }
    /** Discard the deltas of this round. */
    | { readonly type: 'round.restarted'; readonly reason: string }
  )
export type ContextEvent = EventBase &
  (
    | { readonly type: 'context.nearly_full'; readonly messages: number; readonly threshold: number }
    | { readonly type: 'context.consolidated'; readonly through: string; readonly messages: number }
  )
export type WarningEvent = EventBase & { readonly type: 'warning'; readonly code: string; readonly detail: string }

/** Everything that shows progress consumes this one union, whole. */
export type RunEvent = StoredEvent | DeltaEvent | RoundEvent | ContextEvent | WarningEvent
export type RunEventType = RunEvent['type']

export const eventId = (ulid: string, type: RunEventType): string => `${ulid}:${type}`

/** The events after which a stream of a run ends. */
export const isTerminal = (event: RunEvent): boolean =>
  event.type === 'run.completed' ||
  event.type === 'run.failed' ||
  event.type === 'run.cancelled' ||
  event.type === 'run.paused'
