import type { Budget } from '../domain/usage/budget.ts'
import type { Resolution } from '../domain/runs/call-resolution.ts'
import type { NewestRequest } from '../domain/runs/run-changes.ts'
import type { NewDelivery } from '../domain/delivery.ts'
import type { RunSettings } from '../domain/runs/request-settings.ts'
import type { ClientTool, OnBusy, RunInput } from '../domain/runs/run.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Started } from './run-lease.ts'

/** Identifies a request, so that a repeated request gets the run of the first request. */
export interface Idempotency {
  readonly keyHash: string
  /** Hash of the request's content. Two contents under one key are a conflict. */
  readonly bodyHash: string
  /** Set if the key is remembered as long as the session exists. Otherwise, it is remembered for a day. */
  readonly forGood?: true
}

export interface NewRun {
  readonly agent: string
  readonly trigger: 'input' | 'continue'
  readonly onBusy: OnBusy
  /**
   * Id of an ended run. The new run supersedes this run and every later run. `by` of the `Replacement` is the id of the new run.
   * If the named run was merged into another run, the new run supersedes that other run.
   */
  readonly replaces?: string
  /** The input of the run. Absent if the run continues without one (`continue`). */
  readonly input?: RunInput
  readonly clientTools: readonly ClientTool[]
  /** Replaces the session's instructions during this run. Dropped if the run is merged into another one. */
  readonly instructions?: string
  /** The format, tool choice and options of the run. Dropped if the run is merged into another one. */
  readonly settings?: RunSettings
  /** `keyId`: the API key that starts the run. `mostActive`: maximum number of its runs that are queued, running or paused. */
  readonly keyId?: string
  readonly mostActive?: number
  /** The budget of today's usage. The run is rejected if today's usage has reached a limit of the budget. */
  readonly budget?: Budget
  /** A delivery to a channel. It is stored in the same write, in the outbox under the run's id. */
  readonly delivery?: NewDelivery
  readonly idempotency?: Idempotency
  /**
   * Set if the caller can execute the run itself. If the session is idle, the same write then starts the run, with a lease for
   * this owner. In all other cases, the run is queued.
   */
  readonly startAs?: string
}

/** The limits that apply to a new run in any session. */
export type RunLimits = Pick<NewRun, 'keyId' | 'mostActive' | 'budget'>

export interface Enqueued {
  readonly runId: string
  /**
   * Whether the run was accepted before, under the same idempotency key and with the same body. If so, this call has written
   * nothing.
   */
  readonly repeated: boolean
  /** Set if the run was started in the same write: the caller holds the lease and must execute the run. */
  readonly started?: Started
}

export interface Resolved {
  /** Number of resolutions that this write stored; the others were already stored. */
  readonly stored: number
  /** Whether the run has no waiting call left, so that the run can continue. */
  readonly complete: boolean
}

export type Cancelled =
  /** The run had not started and is now cancelled; it keeps its input. */
  | { readonly state: 'cancelled' }
  /** The cancel flag is set. `free`: no process holds the lease, so the caller should acquire it. */
  | { readonly state: 'cancelling'; readonly free: boolean }
  /** The run had already ended; nothing was written. */
  | { readonly state: 'ended' }

/**
 * Accepts runs, resolutions and cancels from clients. Each call is one atomic write. A write that makes work available also sets
 * `due` (session-protocol, Enqueue). Rejects with `session_not_found` for unknown and deleted sessions.
 */
export interface RunInbox {
  /**
   * Accepts a run. Its id is greater than the id of every run accepted before, even if clocks differ. Runs execute in
   * the order of their ids. If the session is paused with waiting calls, the paused run is cancelled as `superseded`.
   * The first input with a letter or digit in a line becomes the session's opening, even while the input is queued. The
   * input also becomes the session's title if there is none (`log/title.ts`).
   *
   * Rejects with:
   *
   * - `session_busy`: with `onBusy: reject`, if a run is active or queued. If the session is paused and its queue is
   *   empty, the paused run is superseded instead.
   * - `too_many_active_runs`: the API key would have more than `mostActive` active runs. The count is part of the
   *   write, so concurrent requests cannot exceed the limit.
   * - `run_not_found`: `replaces` is not the id of a run of this session.
   * - `session_busy`: with `replaces`, if any run is active, paused or queued.
   * - `summarised`: with `replaces`, if the session's summary covers a message of the run.
   * - `idempotency_conflict`: the idempotency key was used with another body.
   * - `nothing_to_continue`: for `continue`, if the session is not idle, or if the latest accepted run has not failed,
   *   or is not the last run of the log. A superseded run is never continued.
   *
   * With `replaces`, the replacement is part of the same write. The write also removes the superseded messages from the
   * session's counts and times of messages.
   *
   * A run that was accepted before under its idempotency key can only be rejected with `idempotency_conflict`.
   */
  enqueue(key: SessionKey, run: NewRun): Promise<Enqueued>
  /**
   * Checks whether the limits allow a run, before a session is created for the run. If not, rejects like `enqueue`. Other runs
   * may be accepted between this check and the run.
   */
  assertCapacity(tenant: string, limits: RunLimits): Promise<void>
  /**
   * Records that the existing run `runId` belongs to this idempotency key. If the key already has a run, returns that run.
   * Rejects with `idempotency_conflict` if the key was used with another body.
   */
  join(
    key: SessionKey,
    runId: string,
    idempotency: NonNullable<NewRun['idempotency']>,
  ): Promise<Pick<Enqueued, 'runId' | 'repeated'>>
  /**
   * Closes waiting calls of the active run, all or nothing. If there are more calls than a round can have, a store may split the
   * write. Such a store checks all calls before the first part of the write. If the caller crashes between two parts of the
   * write, the request must be repeated.
   *
   * Rejects with `run_not_found`, `call_not_found`, or `resolution_conflict`. A conflict is a call that is closed or was resolved
   * differently, or a resolution of the wrong kind.
   */
  resolve(
    key: SessionKey,
    runId: string,
    resolutions: readonly Resolution[],
    request?: NewestRequest,
  ): Promise<Resolved>
  /** Returns the run that belongs to an idempotency key, and the hash of its request's content. */
  findClaim(key: SessionKey, keyHash: string): Promise<{ runId: string; bodyHash: string } | undefined>
  /** Cancels a run. Rejects with `run_not_found`. For a merged run, cancels the run that it was merged into. */
  cancel(key: SessionKey, runId: string): Promise<Cancelled>
}
