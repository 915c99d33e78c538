import type { Budget } from '../../domain/usage/budget.ts'
import type { NewDelivery } from '../../domain/delivery.ts'
import type { HistoryEntries, HistoryQuery } from '../../domain/history.ts'
import type { Agent } from '../../domain/agent.ts'
import type { Summary } from '../../domain/context.ts'
import type { ModelRequest } from '../../domain/model-request.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { ClientTool, OnBusy } from '../../domain/runs/run.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import type { Source } from '../../domain/messages/source.ts'
import type { RunLimits } from '../../ports/run-inbox.ts'
import type { RunEvent } from '../../domain/events.ts'
import type { EndedRun } from '../loop/run-state.ts'
import type { DeletionState } from '../../ports/session-deletion.ts'
import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import type { Appended, AppendOptions } from '../../domain/messages/imported.ts'
import type { IncomingMedia } from '../../ports/tool.ts'
import type { Tools } from '../../ports/tool.ts'

/** Content as it arrives: media with its bytes, not stored yet. */
export type IncomingPart = { readonly type: 'text'; readonly text: string } | IncomingMedia

export interface Submission {
  readonly parts: readonly IncomingPart[]
  readonly user?: string
  readonly metadata?: JsonObject
  readonly clientTools: readonly ClientTool[]
  /** Stand in for the session's during this run. */
  readonly instructions?: string
  /** Default: the agent's policy. */
  readonly onBusy?: OnBusy
  readonly keyId?: string
  /** Runs of the key that may be queued, running or paused at a time. */
  readonly mostActive?: number
  readonly budget?: Budget
  /** What the run owes to a channel. */
  readonly delivery?: NewDelivery
  readonly idempotency?: { readonly keyHash: string; readonly bodyHash: string }
}

/** A tool result or a decision for a waiting call. */
type Given =
  | { readonly output: readonly IncomingPart[]; readonly sources?: readonly Source[] }
  | { readonly error: string }
  | { readonly approve: boolean; readonly by?: string }

/** Of the call with this id. */
export type CallResolution = Given & {
  readonly toolCallId: string
  /** Id of the call's row. Default: the run's only call with this call id that waits or has waited. */
  readonly messageId?: string
}

/** Of the call in this row, whatever its id. */
export type RowResolution = Given & { readonly toolCallId?: undefined; readonly messageId: string }

/** What the next request of a session would hold. */
export interface NextRequest {
  readonly agent: Agent
  readonly request: ModelRequest
  readonly estimatedTokens: number
  readonly contextTokens: number
  readonly summary?: Summary
  /** Messages that left the request because they no longer fitted. */
  readonly omitted: number
  /** The messages whose media go out, by the media's ids. */
  readonly mediaOf: ReadonlyMap<string, string>
}

/** Where a run is executed: here if possible, or by the process that gets the hint (`respond-async` on AWS). */
export interface Placement {
  readonly here: boolean
}

export interface Accepted {
  readonly runId: string
  /** It was accepted before, under the same idempotency key. */
  readonly repeated: boolean
  /** Set when this process executes it at once: what it has come to; undefined when that has to be read from the log. */
  readonly ended?: Promise<EndedRun | undefined>
}

/**
 * What the front doors (HTTP, later Slack and webhooks) do with runs of sessions that they have read. Errors are
 * `TooltrailError`s by code.
 */
export interface AgentService {
  submit(session: Session, submission: Submission, placement: Placement): Promise<Accepted>
  /** As the inbox's: before a session is made for a run. */
  assertCapacity(tenant: string, limits: RunLimits): Promise<void>
  /** Retries after a failed run, or continues after a crash. Rejects with `nothing_to_continue`. */
  continue(
    session: Session,
    options: Pick<Submission, 'keyId' | 'mostActive' | 'budget' | 'idempotency' | 'delivery'>,
    placement: Placement,
  ): Promise<Accepted>
  resolve(
    session: Session,
    runId: string,
    resolutions: readonly (CallResolution | RowResolution)[],
    placement: Placement,
  ): Promise<void>
  cancel(key: SessionKey, runId: string): Promise<void>
  /**
   * A run's events: those of its log from the start of the round of event `after` (or of the run), then live ones.
   * Stored events arrive within 1 s wherever the run executes; deltas only if it executes here. Ends after a terminal
   * event of a run that is not resumed, and when `signal` aborts (without rejecting). A reader that falls
   * behind gets the current round from its start.
   */
  follow(
    key: SessionKey,
    runId: string,
    options: { readonly after?: string; readonly signal: AbortSignal },
  ): AsyncIterable<RunEvent>
  /** The events so far, as its log tells them: the last one says how it ended or what it waits for, if it does. */
  soFar(key: SessionKey, runId: string): AsyncIterable<RunEvent>
  /** Resolves when the run has ended or waits for somebody, wherever it is executed, and when `signal` aborts. */
  settled(key: SessionKey, runId: string, signal: AbortSignal): Promise<void>
  /** What the next request would hold: of the active run (only of `run`, if given), or of the run of a next input. */
  context(session: Session, run: string | undefined): Promise<NextRequest>
  /**
   * Summarises the older part now, until `signal` aborts or `limitMs` are over. Rejects with `session_busy`,
   * `nothing_to_consolidate` and `summary_failed`, and where the tokens or the budget of the day are used up.
   */
  consolidate(
    session: Session,
    options: Pick<Submission, 'idempotency' | 'keyId' | 'budget'> & {
      readonly signal?: AbortSignal
      readonly limitMs?: number
    },
  ): Promise<Summary>
  /**
   * Appends turns that were executed elsewhere. What stops it leaves a beginning of them; under a name, a repetition goes on
   * there. Rejects with `session_busy`, `idempotency_conflict`, `import_gap`, `import_changed`.
   */
  importMessages(
    session: Session,
    messages: AsyncIterable<ClosedMessage> | Iterable<ClosedMessage>,
    options: AppendOptions,
  ): Promise<Appended>
  /**
   * Copies a log up to and with a message into a new session; goes on where an earlier call stopped. Returns how many messages
   * it has copied.
   */
  copyLog(from: SessionKey, through: string, to: Session): Promise<number>
  /** The agent's tools of this server, without those of its MCP servers. */
  toolsOf(agent: string): Promise<Tools>
  search(query: HistoryQuery): Promise<HistoryEntries>
  /**
   * Deletes for a few seconds at most, then continues in the background: `removed` says whether it is done. Rejects
   * with `session_not_found`.
   */
  deleteSession(key: SessionKey): Promise<DeletionState>
  /**
   * How far a deletion has come; undefined for none, or with `owner` for another owner's. `removed` only when no document
   * of the session is found any more: an index that follows the store loses them later.
   */
  deletionState(key: SessionKey, owner?: string): Promise<DeletionState | undefined>
}
