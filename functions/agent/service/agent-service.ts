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
  /** The content of the input. Undefined only with `replaces`: the input of the replaced run is sent again. */
  readonly parts: readonly IncomingPart[] | undefined
  /** Id of an ended run that the new run supersedes, with all later runs. `onBusy` is then ignored. */
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
  /** Limit of the key's runs that are queued, running or paused. */
  readonly mostActive?: number
  readonly budget?: Budget
  /** A delivery that the run's end must make to a channel. */
  readonly delivery?: NewDelivery
  readonly idempotency?: Idempotency
}

/** A client's tool result, or a decision about an approval, for a waiting call. */
type Given =
  | { readonly output: readonly IncomingPart[]; readonly sources?: readonly Source[] }
  | { readonly error: string }
  | { readonly approve: boolean; readonly by?: string }

/** The fields of a request with tool results that replace those of its run. Absent fields keep them. */
export type ContinuingRequest = Omit<NewestRequest, 'settings'> & { readonly settings?: RequestSettings | undefined }

/** The resolution of the call with this call id. */
export type CallResolution = Given & {
  readonly toolCallId: string
  /** Id of the call's row. Default: the run's only call with this call id that waits or has waited. */
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
  /** The id of the message of each image or file that the request sends, by the id of the image or file. */
  readonly mediaOf: ReadonlyMap<string, string>
}

/** The settings of a request that is not sent. Absent ones are those of the session or its active run. */
export interface RequestedAs {
  readonly agent: string
  readonly clientTools?: readonly ClientTool[] | undefined
  readonly instructions?: string | undefined
}

/** Where a run is executed: here if possible, or by the process that gets the hint (`respond-async` on AWS). */
export interface Placement {
  readonly here: boolean
}

export interface Accepted {
  readonly runId: string
  /** Whether the run was accepted before, under the same idempotency key. */
  readonly repeated: boolean
  /**
   * The ended run, if this process executes it at once; resolves to undefined if the result must be read from the log.
   */
  readonly ended?: Promise<EndedRun | undefined>
}

/**
 * The operations on runs of sessions that the inbound endpoints (HTTP, Slack, webhooks) use. The endpoints have already read the
 * session. Operations reject with a `TooltrailError` whose code names the reason.
 */
export interface AgentService {
  /**
   * Accepts an input. If it replaces a run and the active run's cancel is requested, waits for the end of the active
   * run, at most 5 s. Rejects like `RunInbox.enqueue`, and with `nothing_to_send` if it has no parts and the replaced
   * run had no input.
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
   * Closes waiting calls. If this stores a result or a decision, the tools, instructions and settings of `request`
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
   * Yields a run's events: those of its log from the start of the round of event `after` (or of the run), then live
   * ones. Stored events arrive within 1 s wherever the run executes; deltas arrive only if it executes here. Ends after the run's
   * end, or after a pause in which it still waits. Also ends, without rejecting, when `signal` aborts. A reader that
   * falls behind gets the current round again from its start.
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
   * Appends turns that were executed elsewhere. If it stops early, the first turns are stored; with a name, a
   * repetition continues after them. Rejects with `session_busy`, `idempotency_conflict`, `import_gap`,
   * `import_changed`.
   */
  importMessages(
    session: Session,
    messages: AsyncIterable<ClosedMessage> | Iterable<ClosedMessage>,
    options: AppendOptions,
  ): Promise<Appended>
  /**
   * Copies a log up to and including a message into a new session. Continues where an earlier call stopped. Returns how
   * many messages it has copied.
   */
  copyLog(from: SessionKey, through: string, to: Session): Promise<number>
  /** The agent's tools that this server implements, without those of its MCP servers. */
  toolsOf(agent: string): Promise<Tools>
  search(query: HistoryQuery): Promise<HistoryEntries>
  /**
   * Deletes for at most a few seconds, then continues in the background. `removed` says whether the deletion is
   * finished. Rejects with `session_not_found`.
   */
  deleteSession(key: SessionKey): Promise<DeletionState>
  /**
   * The progress of a deletion. Undefined if there is none, or if `owner` is given and the session has another owner. `removed`
   * is true only when the search no longer finds any document of the session. An index that follows the store removes the
   * documents after the store.
   */
  deletionState(key: SessionKey, owner?: string): Promise<DeletionState | undefined>
}
