import type { CallProgressEvent, ContextEvent, MessageSteeredEvent, WarningEvent } from '../../domain/events.ts'
import type { AssistantMessage, ParentNames, ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import type { WaitingCall } from '../v1/runs/resource.ts'

/** Whose step it is: a member's names the call that the member works for. */
export type StepNames = ParentNames & { readonly agent?: string }

/**
 * What other formats are made of. The pieces of a completion come in order and are its whole content, whether its deltas were seen
 * or not.
 */
export type RunStep =
  | (StepNames & { readonly type: 'round'; readonly round: number })
  /** The pieces of this round so far are void; the same round begins anew. */
  | (StepNames & { readonly type: 'discard'; readonly round: number })
  | (StepNames & { readonly type: 'text' | 'reasoning'; readonly round: number; readonly text: string })
  | (StepNames & {
      readonly type: 'call'
      readonly round: number
      readonly sequence: number
      readonly id: string
      readonly name: string
      /** The next piece of the raw string. */
      readonly arguments: string
    })
  /** Follows its pieces. */
  | (StepNames & { readonly type: 'completion'; readonly message: AssistantMessage })
  | (StepNames & { readonly type: 'call_started' | 'call_ended'; readonly message: ToolMessage })
  | { readonly type: 'notice'; readonly event: NoticeEvent }

type NoticeEvent = WarningEvent | ContextEvent | MessageSteeredEvent | CallProgressEvent

/** What a notice says, without the names of its run. */
export function noticeData({ type: _type, runId: _run, ...rest }: NoticeEvent) {
  const { id: _id, ...data } = { id: undefined, ...rest }
  return data
}

/** How a run ended, or why it waits. */
export interface RunEnd {
  readonly run: Run
  readonly waiting: readonly WaitingCall[]
  /** What the run had used when it was last resumed: that is told already. */
  readonly usedBefore: Usage | undefined
}
