import type { Budget } from '../../domain/usage/budget.ts'
import type { NewDelivery } from '../../domain/delivery.ts'
import type { HistoryEntries, HistoryQuery } from '../../domain/history.ts'
import type { Agent } from '../../domain/agent.ts'
import type { Summary } from '../../domain/context.ts'
import type { ModelRequest } from '../../domain/model-request.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { RequestSettings } from '../../domain/runs/request-settings.ts'
import type { ClientTool, OnBusy } from '../../domain/runs/run.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import type { Source } from '../../domain/messages/source.ts'
import type { NewestRequest } from '../../domain/runs/run-changes.ts'
import type { Idempotency, RunInbox, RunLimits } from '../../ports/run-inbox.ts'
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
  /** The content of the input. If undefined, `replaces` is set, and the input of the replaced run is sent again. */
  readonly parts: readonly IncomingPart[] | undefined
  /** Id of an ended run. The new run supersedes that run and all later ones. `onBusy` is then ignored. */
  readonly replaces?: string
  readonly user?: string
  readonly metadata?: JsonObject
  readonly clientTools: readonly ClientTool[]
  /** Replaces the session's instructions during this run. */
  readonly instructions?: string
  /** Format, tool choice and options for this run. The agent's policies decide which of them apply. */
  readonly settings?: RequestSettings
  /** Default: the agent's policy. */
  readonly onBusy?: OnBusy
  readonly keyId?: string
  /** Maximum number of runs of this API key that may be queued, running or paused. */
  readonly mostActive?: number
  readonly budget?: Budget
  /** A delivery that the run's end must make to a channel. */
  readonly delivery?: NewDelivery
  readonly idempotency?: Idempotency
}

/** A client's result for a waiting call, or a decision on the call's approval. */
type Given =
  | { readonly output: readonly IncomingPart[]; readonly sources?: readonly Source[] }
  | { readonly error: string }
  | { readonly approve: boolean; readonly by?: string }

/**
 * Fields of a request with tool results. They replace the fields of the run; an absent field leaves the run's field
 * unchanged.
 */
export type ContinuingRequest = Omit<NewestRequest, 'settings'> & { readonly settings?: RequestSettings | undefined }

/** The resolution of a call that is identified by its call id. */
export type CallResolution = Given & {
  readonly toolCallId: string
  /**
   * Id of the call's row. By default, the call is found by its call id. It must be the run's only call with this id
   * that waits or has waited.
   */
  readonly messageId?: string
}

/** The resolution of a call that is identified by its row alone. */
export type RowResolution = Given & { readonly toolCallId?: undefined; readonly messageId: string }

/** The content of a session's next request. */
export interface NextRequest {
  readonly agent: Agent
  readonly request: ModelRequest
  readonly estimatedTokens: number
  readonly contextTokens: number
  readonly summary?: Summary
  /** Number of messages omitted because they no longer fit the context. */
  readonly omitted: number
  /** Maps the id of each image or file in the request to the id of its message. */
  readonly mediaOf: ReadonlyMap<string, string>
}

/** The settings of a request that is not sent. Absent settings default to those of the session or its active run. */
export interface RequestedAs {
  readonly agent: string
  readonly clientTools?: readonly ClientTool[] | undefined
  readonly instructions?: string | undefined
}

/** Where a run is executed: in this process if possible, or in the process that gets the hint (`respond-async` on AWS). */
export interface Placement {
  readonly here: boolean
}

export interface Accepted {
  readonly runId: string
  /** Whether the run was accepted before, under the same idempotency key. */
  readonly repeated: boolean
  /**
   * Set if this process executes the run at once. Resolves to the ended run, or to undefined if the result must be read
   * from the log.
   */
  readonly ended?: Promise<EndedRun | undefined>
}

/**
 * The operations on sessions and their runs for the inbound endpoints (HTTP, Slack, webhooks). Callers have already
 * read the session. Operations reject with a `TooltrailError` whose code names the reason.
 */
export interface AgentService {
  /**
   * Accepts an input. If the input replaces a run while the active run is being cancelled, waits up to 5 s for the
   * active run to end. Rejects like `RunInbox.enqueue`. Also rejects with `nothing_to_send` if the submission has no
   * parts and the replaced run had no input.
   */
  submit(session: Session, submission: Submission, placement: Placement): Promise<Accepted>
  /** Rejects if the inbox would reject a new run because of these limits. Called before a session is created for the run. */
  assertCapacity(tenant: string, limits: RunLimits): Promise<void>
  /** Retries after a failed run, or continues after a crash. Rejects with `nothing_to_continue`. */
  continue(
    session: Session,
    options: Pick<Submission, 'keyId' | 'mostActive' | 'budget' | 'idempotency' | 'delivery'>,
    placement: Placement,
  ): Promise<Accepted>
  /**
   * Closes waiting calls. If a result or a decision is stored, the tools, instructions and settings of `request`
   * replace those of the run.
   */
  resolve(
    session: Session,
    runId: string,
    resolutions: readonly (CallResolution | RowResolution)[],
    placement: Placement,
    request?: ContinuingRequest,
  ): Promise<void>
  /** Returns the run that belongs to an idempotency key, and the hash of its request's content. */
  findClaim: RunInbox['findClaim']
  cancel(key: SessionKey, runId: string): Promise<void>
  /**
   * Yields a run's events: first those in the log, then live ones. Starts with the round of event `after`, or with the
   * start of the run if `after` is absent. Stored events arrive within 1 s wherever the run executes; deltas arrive
   * only if it executes here. Ends after the run's end, or after a pause if the run still waits. Also ends, without
   * rejecting, when `signal` aborts. A reader that falls behind gets the current round again from its start.
   */
  follow(
    key: SessionKey,
    runId: string,
    options: { readonly after?: string; readonly signal: AbortSignal },
  ): AsyncIterable<RunEvent>
  /**
   * Yields the events so far, from the log. If the run has ended or waits for its caller, the last event is its end or its pause.
   */
  soFar(key: SessionKey, runId: string): AsyncIterable<RunEvent>
  /**
   * Resolves when the run has ended, when it waits for its caller, or when `signal` aborts. Any process may execute the run.
   */
  settled(key: SessionKey, runId: string, signal: AbortSignal): Promise<void>
  /**
   * The next request of the active run, or of the run that a next input would start. If `run` is given, it must be the active
   * run. The session need not exist: its log is then empty.
   */
  context(session: Session, run: string | undefined, as?: RequestedAs): Promise<NextRequest>
  /**
   * Summarises the older part of the session now, until `signal` aborts or `limitMs` have passed. Rejects with
   * `session_busy`, `nothing_to_consolidate` and `summary_failed`, and when the day's tokens or budget are used up.
   */
  consolidate(
    session: Session,
    options: Pick<Submission, 'idempotency' | 'keyId' | 'budget'> & {
      readonly signal?: AbortSignal
      readonly limitMs?: number
    },
  ): Promise<Summary>
  /**
   * Appends turns that were executed elsewhere. If the import stops early, its first turns stay stored. A repeated
   * import with the same name continues after them. Rejects with `session_busy`, `idempotency_conflict`, `import_gap`,
   * `import_changed`.
   */
  importMessages(
    session: Session,
    messages: AsyncIterable<ClosedMessage> | Iterable<ClosedMessage>,
    options: AppendOptions,
  ): Promise<Appended>
  /**
   * Copies a log into a new session, up to and including the message `through`. Continues where an earlier call stopped.
   * Returns how many messages it has copied.
   */
  copyLog(from: SessionKey, through: string, to: Session): Promise<number>
  /** The agent's tools that this server implements, without those of its MCP servers. */
  toolsOf(agent: string): Promise<Tools>
  search(query: HistoryQuery): Promise<HistoryEntries>
  /**
   * Deletes a session. Waits a few seconds at most; the deletion then continues in the background. `removed` says whether the
   * deletion is finished. Rejects with `session_not_found`.
   */
  deleteSession(key: SessionKey): Promise<DeletionState>
  /**
   * The progress of a deletion. Undefined if there is no deletion, or if `owner` is given and the session has another
   * owner. `removed` is true only when the search no longer finds any document of the session. Some indexes follow the
   * store, so they remove the documents later than the store does.
   */
  deletionState(key: SessionKey, owner?: string): Promise<DeletionState | undefined>
}
