import type { AssistantMessage, Output, ToolMessage, ToolPart, UserMessage } from '../domain/message.ts'
import type { Run, RunError, RunOutcome, StopReason } from '../domain/run.ts'
import type { Lease } from '../domain/session.ts'

/** A completion with calls: the assistant message and one open tool message per call, ids ascending. */
export interface Round {
  readonly assistant: AssistantMessage
  /** At most 64, with status `running` or `waiting` and the generation of the lease. */
  readonly tools: readonly ToolMessage[]
}

export interface CallResult {
  readonly messageId: string
  readonly status: 'completed' | 'error' | 'cancelled'
  readonly parts: readonly ToolPart[]
  readonly output?: Output
  readonly completedAt: number
  readonly durationMs: number
}

export interface RunEnd {
  readonly outcome: RunOutcome
  readonly stopReason: StopReason
  readonly error?: RunError
  /** The final completion, what had streamed before a failure or cancel, or the error; id greater than the log's last. */
  readonly message?: AssistantMessage
}

/**
 * Extends one session's log. Everything is durable when the promise resolves, and nothing is stored when it rejects. When a
 * response of the store is lost, the adapter reads whether the write landed and never guesses. Rejects with `LeaseLost` when
 * `lease` is no longer the session's, whatever the reason. Safe to repeat with the same ids: the second call changes nothing.
 */
export interface RunLog {
  /** Stores the completion and its open calls, all or nothing, before any of them executes; adds its usage. */
  appendRound(lease: Lease, round: Round): Promise<void>
  /** Ends one `running` call that this holder has claimed; independent of the header, so parallel calls never wait. */
  completeCall(lease: Lease, result: CallResult): Promise<ToolMessage>
  /** `approved` → `running`, before the tool executes. */
  beginApproved(lease: Lease, messageId: string): Promise<ToolMessage>
  /** Closes calls of a former holder, claimed before, as `interrupted`. Returns the rows as they are now. */
  repair(lease: Lease, messageIds: readonly string[]): Promise<readonly ToolMessage[]>
  /** A queued steering input becomes a user message of the running run (id `messageId`); undefined when it is no longer queued. */
  steer(lease: Lease, queuedRunId: string, messageId: string): Promise<UserMessage | undefined>
  /**
   * Releases the lease with the run `paused`. Returns undefined, with nothing written, when no call waits any longer or a
   * cancel has come in: poll and go on.
   */
  pause(lease: Lease): Promise<Run | undefined>
  /**
   * Ends the run, closes its open calls (as `interrupted` those that are `running`, for they may have run; as `cancelled` the
   * others), releases the lease, and leaves the session due exactly when inputs are queued. Returns undefined, with nothing written, when a cancel has come in and the outcome is not `cancelled`.
   */
  endRun(lease: Lease, end: RunEnd): Promise<{ run: Run; closed: readonly ToolMessage[]; queued: boolean } | undefined>
}
