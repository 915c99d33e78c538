import type { HistoryEntries, HistoryQuery } from '../../domain/history.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { ClientTool, OnBusy } from '../../domain/run.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import type { RunEvent } from '../../domain/events.ts'
import type { DeletionState } from '../../ports/session-deletion.ts'
import type { IncomingMedia } from '../../ports/tool.ts'

/** Content as it comes in: media with its bytes, before it is stored. */
export type IncomingPart = { readonly type: 'text'; readonly text: string } | IncomingMedia

export interface Submission {
  readonly parts: readonly IncomingPart[]
  readonly user?: string
  readonly metadata?: JsonObject
  readonly clientTools: readonly ClientTool[]
  /** Left out: the agent's policy. */
  readonly onBusy?: OnBusy
  readonly keyId?: string
  /** Runs of the key that may be queued, running or paused at a time. */
  readonly mostActive?: number
  readonly idempotency?: { readonly keyHash: string; readonly bodyHash: string }
}

/** What somebody gives to a call that waits for it. */
export type CallResolution = {
  readonly toolCallId: string
  /** Of the call's row. Left out: the run's only call of this id that waits or has waited. */
  readonly messageId?: string
} & ({ readonly output: readonly IncomingPart[] } | { readonly error: string } | { readonly approve: boolean })

/** Where a run is executed: here as far as possible, or by whoever gets the hint (`respond-async` on AWS). */
export interface Placement {
  readonly here: boolean
}

/** What the front doors (HTTP, later Slack and webhooks) do with runs, of sessions that they have read. Errors: `TooltrailError` by code. */
export interface AgentService {
  submit(session: Session, submission: Submission, placement: Placement): Promise<{ runId: string; repeated: boolean }>
  /** A new attempt after a failed run, or going on after a crash. Rejects with `nothing_to_continue`. */
  continue(
    session: Session,
    options: Pick<Submission, 'keyId' | 'mostActive' | 'idempotency'>,
    placement: Placement,
  ): Promise<{ runId: string; repeated: boolean }>
  resolve(session: Session, runId: string, resolutions: readonly CallResolution[], placement: Placement): Promise<void>
  cancel(key: SessionKey, runId: string): Promise<void>
  /**
   * A run's events: those of its log from the start of the round of event `after` (or from the run's beginning), then live.
   * Stored events arrive within 1 s wherever the run executes; deltas only where it executes here. Ends after a terminal
   * event of a run that is not resumed, and when `signal` aborts (without rejecting). A slow reader loses deltas, nothing else.
   */
  follow(
    key: SessionKey,
    runId: string,
    options: { readonly after?: string; readonly signal: AbortSignal },
  ): AsyncIterable<RunEvent>
  search(query: HistoryQuery): Promise<HistoryEntries>
  /** Deletes for at most some seconds, then goes on in the background: `removed` tells. Rejects with `session_not_found`. */
  deleteSession(key: SessionKey): Promise<DeletionState>
}
