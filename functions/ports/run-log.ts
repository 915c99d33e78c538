import type { SessionContext, SummaryWork } from '../domain/context.ts'
import type { AssistantMessage, Output, ToolMessage, ToolPart, UserMessage } from '../domain/messages/message.ts'
import type { RunEnd } from '../domain/runs/run-changes.ts'
import type { Run, RunNotice } from '../domain/runs/run.ts'
import type { EventPosition } from '../domain/runs/event-position.ts'
import type { Lease } from '../domain/session.ts'
import type { StoredSource } from '../domain/messages/message.ts'
import type { UsageAccount } from '../domain/usage/usage-count.ts'

/**
 * A completion with calls: the assistant message and one open tool message per call, ids ascending. Without calls, it is the
 * last of a team member.
 */
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
  readonly sources?: readonly StoredSource[]
  readonly completedAt: number
  readonly durationMs: number
  /** Of a delegate call: the member's work has searched the history. */
  readonly searched?: true
  readonly position?: EventPosition
}

/** What a policy has decided during a run. */
export interface Decision {
  /** How many decisions of this run were recorded before: tells one from its own repetition. */
  readonly number: number
  /** What holds for the session's requests from now on; left out: what held before. */
  readonly context?: SessionContext
  readonly notices: readonly RunNotice[]
  /** What a model's work on a summary took. Counts as `account`'s, and among the agents as `summary`. */
  readonly work?: SummaryWork
  readonly account?: UsageAccount
}

/**
 * Extends one session's log. Everything is durable when the promise resolves, and nothing is stored when it rejects. If
 * a response of the store is lost, the adapter reads whether the write landed; it never guesses. Rejects with
 * `LeaseLost` when `lease` is no longer the session's, whatever the reason. Safe to repeat with the same ids: the
 * second call changes nothing. Writes that append messages count them in the session (`withMessages`), each once.
 */
export interface RunLog {
  /**
   * Stores the completion and its open calls, all or nothing, before any of them executes. Adds its usage to the run, to
   * the session and to what the ledger holds for `account`, and the numbers that it gives to sources to those of the session.
   */
  appendRound(lease: Lease, round: Round, account?: UsageAccount): Promise<void>
  /**
   * Stores what belongs to a round beside its own write: the tool messages of its calls that are not executed, with their
   * error, and the tasks that its delegate calls give to members. At most 64 at a time, ids ascending and greater than the
   * log's last.
   */
  append(lease: Lease, messages: readonly (ToolMessage | UserMessage)[]): Promise<void>
  /** Ends one `running` call that this holder has claimed. Does not touch the header, so parallel calls never wait. */
  completeCall(lease: Lease, result: CallResult): Promise<ToolMessage>
  /** `approved` → `running`, before the tool executes. */
  beginApproved(lease: Lease, messageId: string): Promise<ToolMessage>
  /**
   * Closes calls of a former holder as `interrupted`, all at one position; they must be claimed first. Returns the rows as
   * they are now.
   */
  repair(lease: Lease, messageIds: readonly string[], position?: EventPosition): Promise<readonly ToolMessage[]>
  /**
   * Makes a queued steering input a user message (id `messageId`) of the running run. Returns undefined if it is no
   * longer queued.
   */
  steer(
    lease: Lease,
    queuedRunId: string,
    messageId: string,
    position?: EventPosition,
  ): Promise<UserMessage | undefined>
  /** Records what a policy has decided, all or nothing: context, notices and usage. */
  recordDecision(lease: Lease, decision: Decision): Promise<void>
  /**
   * Releases the lease with the run `paused`. Writes nothing and returns undefined if no call waits any longer or a
   * cancel has come in: poll and continue.
   */
  pause(lease: Lease): Promise<Run | undefined>
  /**
   * Ends the run, closes its open calls (`running` ones become `interrupted`, because they may have run; the others
   * `cancelled`), releases the lease, and leaves the session due exactly if inputs are queued. Writes nothing and
   * returns undefined if a cancel has come in and the outcome is not `cancelled`.
   * The final completion's usage counts as that of a round does.
   */
  endRun(
    lease: Lease,
    end: RunEnd,
    account?: UsageAccount,
  ): Promise<{ run: Run; closed: readonly ToolMessage[]; queued: boolean } | undefined>
}
