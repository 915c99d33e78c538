import type { CallProgressEvent, ContextEvent, MessageSteeredEvent, WarningEvent } from '../../domain/events.ts'
import type { AssistantMessage, ParentNames, ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import type { WaitingCall } from '../v1/runs/resource.ts'

/** The thread of a step; empty for the leader. For a member, it names the call that the member works for. */
export type StepNames = ParentNames & { readonly agent?: string }

/**
 * A step of a run. Facades convert steps to their formats. The pieces of a completion come in order and together form
 * its whole content, even if its deltas were not received.
 */
export type RunStep =
  | (StepNames & { readonly type: 'round'; readonly round: number; readonly attempt: number })
  /** Discards the pieces of this round so far. `attempt` is the attempt whose pieces follow. */
  | (StepNames & { readonly type: 'discard'; readonly round: number; readonly attempt: number })
  | (StepNames & { readonly type: 'text' | 'reasoning'; readonly round: number; readonly text: string })
  | (StepNames & {
      readonly type: 'call'
      readonly round: number
      readonly sequence: number
      readonly id: string
      readonly name: string
      /** The next piece of the raw arguments. */
      readonly arguments: string
    })
  /** A stored completion. This step comes after the pieces of the completion. */
  | (StepNames & { readonly type: 'completion'; readonly message: AssistantMessage })
  | (StepNames & { readonly type: 'call_started' | 'call_ended'; readonly message: ToolMessage })
  | { readonly type: 'notice'; readonly event: NoticeEvent }

type NoticeEvent = WarningEvent | ContextEvent | MessageSteeredEvent | CallProgressEvent

/** The data of a notice, without the ids of the run. */
export function noticeData({ type: _type, runId: _run, ...rest }: NoticeEvent) {
  const { id: _id, ...data } = { id: undefined, ...rest }
  return data
}

/** How a run ended, or why it waits. */
export interface RunEnd {
  readonly run: Run
  readonly waiting: readonly WaitingCall[]
  /** The run's usage until it was last resumed. That usage was reported with an earlier pause. */
  readonly usedBefore: Usage | undefined
}
