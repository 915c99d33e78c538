import type { Budget } from '../domain/usage/budget.ts'
import type { Resolution } from '../domain/runs/call-resolution.ts'
import type { NewDelivery } from '../domain/delivery.ts'
import type { ClientTool, OnBusy, RunInput } from '../domain/runs/run.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Started } from './run-lease.ts'

export interface NewRun {
  readonly agent: string
  readonly trigger: 'input' | 'continue'
  readonly onBusy: OnBusy
  /** Absent on `continue`. */
  readonly input?: RunInput
  readonly clientTools: readonly ClientTool[]
  /** Stand in for the session's during this run; lost when the run is merged into another. */
  readonly instructions?: string
  /** The API key that starts it, and how many of its runs may be queued, running or paused at a time. */
  readonly keyId?: string
  readonly mostActive?: number
  /** What may have been used on this day before it is accepted. */
  readonly budget?: Budget
  /** What it owes to a channel: stored in the same write, and found in the outbox under the run's id. */
  readonly delivery?: NewDelivery
  readonly idempotency?: { readonly keyHash: string; readonly bodyHash: string }
  /**
   * Set when the caller can run the loop itself: on an idle session the run is then started in the same write, with a lease
   * for this owner. Without it, or on a busy session, the run is queued.
   */
  readonly startAs?: string
}

/** What a new run is held to, whatever its session. */
export type RunLimits = Pick<NewRun, 'keyId' | 'mostActive' | 'budget'>

export interface Enqueued {
  readonly runId: string
  /** The run was accepted before with the same idempotency key and body; nothing was written now. */
  readonly repeated: boolean
  /** Set when the run was started in the same write: its holder must run the loop. */
  readonly started?: Started
}

export interface Resolved {
  /** How many of the resolutions this write stored; the others were already stored. */
  readonly stored: number
  /** No call of the run waits any longer: the run can continue. */
  readonly complete: boolean
}

export type Cancelled =
  /** It had not started and is now cancelled; it keeps its input. */
  | { readonly state: 'cancelled' }
  /** The flag is set; `free`: nobody holds the lease, so the caller should take it. */
  | { readonly state: 'cancelling'; readonly free: boolean }
  /** It had already ended; nothing was written. */
  | { readonly state: 'ended' }

/**
 * What clients send. Each call is one atomic write, guarded so that whatever makes work available also sets `due`
 * (session-protocol, Enqueue). Rejects with `session_not_found` for unknown and deleted sessions.
 */
export interface RunInbox {
  /**
   * Accepts a run. Its id is greater than that of every run accepted before, whatever the clocks say, and runs execute
   * in that order. If the session is paused with calls still waiting, it also sets `cancel` (superseded) on the paused
   * run. The first input that has a line with a letter or digit becomes the session's opening, and its title if it has none
   * (`log/title.ts`), also while it waits in the queue.
   *
   * Rejects with `session_busy` (`onBusy: reject` while a run is active or queued; a paused session with nothing queued
   * is superseded instead), `too_many_active_runs` (beyond `mostActive`; the count is part of the write, so concurrent
   * requests cannot exceed it), `idempotency_conflict` (same key, other body), `nothing_to_continue` (`continue`, but
   * the latest accepted run is not `failed`, or not the last of the log, or the session is not idle). A run that was accepted before with its
   * idempotency key is not new: only the conflict can refuse it.
   */
  enqueue(key: SessionKey, run: NewRun): Promise<Enqueued>
  /** Rejects as `enqueue` would reject a run with these limits now, for who makes its session first. Others may come in between. */
  assertCapacity(tenant: string, limits: RunLimits): Promise<void>
  /**
   * Remembers that what came under this idempotency key was given the run `runId`, which is there already. If the key was
   * used before, returns that run. Rejects with `idempotency_conflict` (same key, other body).
   */
  join(
    key: SessionKey,
    runId: string,
    idempotency: NonNullable<NewRun['idempotency']>,
  ): Promise<Pick<Enqueued, 'runId' | 'repeated'>>
  /**
   * Closes waiting calls of the active run, all or nothing; of more calls than a round has, a store may close a part before the
   * rest, all of which were checked: whoever breaks off there repeats it. Rejects with `run_not_found`, `call_not_found`, or
   * `resolution_conflict` for a call that is closed or was resolved differently, and for a resolution of the wrong kind.
   */
  resolve(key: SessionKey, runId: string, resolutions: readonly Resolution[]): Promise<Resolved>
  /** Rejects with `run_not_found`. A merged run cancels its target. */
  cancel(key: SessionKey, runId: string): Promise<Cancelled>
}
