import type { SessionContext, SummaryWork } from '../domain/context.ts'
import type { AssistantMessage, Output, ToolMessage, ToolPart, UserMessage } from '../domain/messages/message.ts'
import type { RunEnd } from '../domain/runs/run-changes.ts'
import type { Run, RunNotice } from '../domain/runs/run.ts'
import type { EventPosition } from '../domain/runs/event-position.ts'
import type { Lease } from '../domain/session.ts'
import type { StoredSource } from '../domain/messages/message.ts'
import type { UsageAccount } from '../domain/usage/usage-count.ts'

/**
 * A completion with calls: the assistant message, and one open tool message per call. Their ids ascend. Only the last completion
 * of a team member may have no calls.
 */
export interface Round {
  readonly assistant: AssistantMessage
  /** At most 64 calls, with status `running` or `waiting` and the generation of the lease. */
  readonly tools: readonly ToolMessage[]
}

export interface CallResult {
  readonly messageId: string
  readonly status: 'completed' | 'error' | 'cancelled'
  readonly parts: readonly ToolPart[]
  readonly output?: Output
  readonly sources?: readonly StoredSource[]
  readonly completedAt: number
  readonly durationMs: number
  /** For a delegate call: set if the member's work has searched the history. */
  readonly searched?: true
  readonly position?: EventPosition
}

/** The decision of a policy during a run. */
export interface Decision {
  /** Number of decisions that this run has recorded before this one. The number identifies a repeated write. */
  readonly number: number
  /** The new context for the session's requests. If undefined, the context stays unchanged. */
  readonly context?: SessionContext
  readonly notices: readonly RunNotice[]
  /** The usage of a model for a summary. It is counted for `account`, under the agent name `summary`. */
  readonly work?: SummaryWork
  readonly account?: UsageAccount
}

/**
 * Extends one session's log. All data are durable when the promise resolves, and nothing is stored when it rejects. If
 * a response of the store is lost, the adapter reads whether the write succeeded. Rejects with `LeaseLost` if the
 * session no longer has the lease `lease`, for any reason. A call is safe to repeat with equal ids: only one of the two
 * calls changes anything, whichever of them reaches the store first (`test/contracts/late-landing.ts`). Writes that
 * append messages count each message once in the session (`withMessages`).
 */
export interface RunLog {
  /**
   * Stores the completion and its open calls, all or nothing, before any of the calls executes. Adds the completion's usage to
   * the run, the session and the ledger (for `account`). Adds its source numbers to those of the session.
   */
  appendRound(lease: Lease, round: Round, account?: UsageAccount): Promise<void>
  /**
   * Stores the rest of a round: the refused tool calls with their errors, and the tasks of delegate calls. Accepts at
   * most 64 messages at once. Their ids ascend and are greater than the last id of the log.
   */
  append(lease: Lease, messages: readonly (ToolMessage | UserMessage)[]): Promise<void>
  /**
   * Ends one `running` call that this holder has claimed. Does not write the header, so parallel calls never wait for
   * each other.
   */
  completeCall(lease: Lease, result: CallResult): Promise<ToolMessage>
  /** Changes a call from `approved` to `running`, before the tool executes. */
  beginApproved(lease: Lease, messageId: string): Promise<ToolMessage>
  /**
   * Closes calls of a former holder as `interrupted`. The calls must be claimed first. All of them end at the same `position`.
   * Returns the changed rows.
   */
  repair(lease: Lease, messageIds: readonly string[], position?: EventPosition): Promise<readonly ToolMessage[]>
  /**
   * Turns a queued steering input into a user message of the current run, with the id `messageId`. Returns undefined if the input
   * is no longer queued.
   */
  steer(
    lease: Lease,
    queuedRunId: string,
    messageId: string,
    position?: EventPosition,
  ): Promise<UserMessage | undefined>
  /** Records the decision of a policy, all or nothing: context, notices and usage. */
  recordDecision(lease: Lease, decision: Decision): Promise<void>
  /**
   * Releases the lease, and marks the run as `paused`. If the run was cancelled or has no waiting call left, writes nothing
   * and returns undefined. In this case, the caller must read the header and continue.
   */
  pause(lease: Lease): Promise<Run | undefined>
  /**
   * Ends the run, closes its open calls and releases the lease. `running` calls become `interrupted`, because they may
   * have run; the others become `cancelled`. The session stays due only if inputs are queued. If a cancellation is
   * stored and `end` has an outcome other than `cancelled`, writes nothing and returns undefined. The usage of the
   * final completion is counted like that of a round.
   */
  endRun(
    lease: Lease,
    end: RunEnd,
    account?: UsageAccount,
  ): Promise<{ run: Run; closed: readonly ToolMessage[]; queued: boolean } | undefined>
}
