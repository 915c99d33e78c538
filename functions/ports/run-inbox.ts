import type { Budget } from '../domain/usage/budget.ts'
import type { Resolution } from '../domain/runs/call-resolution.ts'
import type { NewestRequest } from '../domain/runs/run-changes.ts'
import type { NewDelivery } from '../domain/delivery.ts'
import type { ClientTool, OnBusy, RunInput } from '../domain/runs/run.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Started } from './run-lease.ts'

export interface NewRun {
  readonly agent: string
  readonly trigger: 'input' | 'continue'
  readonly onBusy: OnBusy
  /** Absent for `continue`. */
  readonly input?: RunInput
  readonly clientTools: readonly ClientTool[]
  /** Replaces the session's instructions during this run. Dropped if the run is merged into another one. */
  readonly instructions?: string
  /** The API key that starts the run, and the limit of its runs that are queued, running or paused. */
  readonly keyId?: string
  readonly mostActive?: number
  /** The limits of today's usage; the run is rejected if they are exceeded. */
  readonly budget?: Budget
  /** A delivery to a channel. It is stored in the same write, in the outbox under the run's id. */
  readonly delivery?: NewDelivery
  readonly idempotency?: { readonly keyHash: string; readonly bodyHash: string }
  /**
   * Set if the caller can execute the run itself. On an idle session, the run is then started in the same write, with a
   * lease for this owner. Otherwise, or on a busy session, the run is queued.
   */
  readonly startAs?: string
}

/** The limits for a new run, whatever its session. */
export type RunLimits = Pick<NewRun, 'keyId' | 'mostActive' | 'budget'>

export interface Enqueued {
  readonly runId: string
  /** Whether the run was accepted before, with the same idempotency key and body. Then nothing was written now. */
  readonly repeated: boolean
  /** Set if the run was started in the same write: the caller holds the lease and must execute the run. */
  readonly started?: Started
}

export interface Resolved {
  /** Number of resolutions that this write stored; the others were already stored. */
  readonly stored: number
  /** Whether no call of the run waits any longer, so that the run can continue. */
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
 * Accepts what clients send. Each call is one atomic write. A write that makes work available also sets `due`
 * (session-protocol, Enqueue). Rejects with `session_not_found` for unknown and deleted sessions.
 */
export interface RunInbox {
  /**
   * Accepts a run. Its id is greater than that of every run accepted before, whatever the clocks say, and runs execute
   * in that order. If the session is paused with waiting calls, the paused run is cancelled as `superseded`. The first
   * input with a letter or digit in a line becomes the session's opening, even while it is queued. It also becomes the
   * session's title if there is none (`log/title.ts`).
   *
   * Rejects with:
   *
   * - `session_busy`: with `onBusy: reject`, if a run is active or queued. A paused session with an empty queue is
   *   superseded instead.
   * - `too_many_active_runs`: more than `mostActive`. The count is part of the write, so concurrent requests cannot
   *   exceed it.
   * - `idempotency_conflict`: the same key with another body.
   * - `nothing_to_continue`: for `continue`, if the latest accepted run is not `failed`, or not the last of the log, or
   *   the session is not idle.
   *
   * A run accepted before under its idempotency key is not new: only the conflict can reject it.
   */
  enqueue(key: SessionKey, run: NewRun): Promise<Enqueued>
  /**
   * Rejects like `enqueue` for a run with these limits, before a session is created for it. Other runs may be accepted
   * after this check.
   */
  assertCapacity(tenant: string, limits: RunLimits): Promise<void>
  /**
   * Records that the existing run `runId` belongs to this idempotency key. If the key was used before, returns that
   * run. Rejects with `idempotency_conflict` (same key, other body).
   */
  join(
    key: SessionKey,
    runId: string,
    idempotency: NonNullable<NewRun['idempotency']>,
  ): Promise<Pick<Enqueued, 'runId' | 'repeated'>>
  /**
   * Closes waiting calls of the active run, all or nothing. A store may split the write if there are more calls than a
   * round can have; all of them are checked first. If the caller crashes between two parts, it must repeat the request.
   *
   * Rejects with `run_not_found`, `call_not_found`, or `resolution_conflict` for a call that is closed or was resolved
   * differently, and for a resolution of the wrong kind.
   *
   * The write that closes the last of these calls also replaces the tools and instructions of the run by those of
   * `request`. If all resolutions are already stored, nothing is replaced: a retry must not undo a newer request.
   */
  resolve(
    key: SessionKey,
    runId: string,
    resolutions: readonly Resolution[],
    request?: NewestRequest,
  ): Promise<Resolved>
  /** Cancels a run. Rejects with `run_not_found`. For a merged run, cancels the run that it was merged into. */
  cancel(key: SessionKey, runId: string): Promise<Cancelled>
}
