import type { SessionKey } from '../domain/session.ts'
import type { ClientTool, OnBusy, RunInput } from '../domain/run.ts'
import type { Output, ToolPart } from '../domain/message.ts'
import type { Started } from './run-lease.ts'

export interface NewRun {
  readonly agent: string
  readonly trigger: 'input' | 'continue'
  readonly onBusy: OnBusy
  /** Absent on `continue`. */
  readonly input?: RunInput
  readonly clientTools: readonly ClientTool[]
  /** The API key that hands it in, and how many runs of it may be queued, running or paused at a time. */
  readonly keyId?: string
  readonly mostActive?: number
  readonly idempotency?: { readonly keyHash: string; readonly bodyHash: string }
  /**
   * Set when the caller can run the loop itself: on an idle session the run is then started in the same write, with a lease
   * for this owner. Without it, or on a busy session, the run is queued.
   */
  readonly startAs?: string
}

export interface Enqueued {
  readonly runId: string
  /** The run was accepted before under the same idempotency key and body; nothing was written now. */
  readonly repeated: boolean
  /** Set when the run was started in the same write: its holder must run the loop. */
  readonly started?: Started
}

export type Resolution =
  | {
      readonly toolCallId: string
      /** Of the call's row; left out: the run's latest call of this id that waits, else its latest. */
      readonly messageId?: string
      readonly kind: 'result'
      readonly status: 'completed' | 'error'
      readonly parts: readonly ToolPart[]
      readonly output?: Output
      readonly hash: string
    }
  | {
      readonly toolCallId: string
      readonly messageId?: string
      readonly kind: 'approval'
      readonly approved: boolean
      readonly hash: string
    }

export interface Resolved {
  /** How many of the resolutions this write stored; the others had been stored before, the same. */
  readonly stored: number
  /** No call of the run waits any longer: the run can go on. */
  readonly complete: boolean
}

export type Cancelled =
  /** It had not started and is cancelled now. */
  | { readonly state: 'cancelled' }
  /** The flag is set; `free`: nobody holds the lease, so the caller should take it. */
  | { readonly state: 'cancelling'; readonly free: boolean }
  /** It had ended before; nothing was written. */
  | { readonly state: 'ended' }

/**
 * What clients hand in. Each call is one atomic write, guarded so that whatever makes work available also sets `due`
 * (session-protocol, Enqueue). Rejects with `session_not_found` for unknown and deleted sessions.
 */
export interface RunInbox {
  /**
   * Accepts a run. Its id is greater than that of every run accepted before, whatever the clocks say, and runs execute in
   * that order. During a pause with calls still waiting it also sets `cancel` (superseded) on the paused run.
   *
   * Rejects with `session_busy` (`onBusy: reject` while a run is active or queued; a paused session with nothing queued is
   * superseded instead), `too_many_active_runs` (beyond `mostActive`; the count is part of the write, so of runs that are handed
   * in at once no more than that are accepted), `idempotency_conflict` (same key, other body), `nothing_to_continue` (`continue` where the latest
   * accepted run is not `failed`, or the session is not idle). What was accepted before under its idempotency key is no new run
   * and meets none of these but the conflict.
   */
  enqueue(key: SessionKey, run: NewRun): Promise<Enqueued>
  /**
   * Closes waiting calls of the active run, all or nothing. Rejects with `run_not_found`, `call_not_found`, or
   * `answer_conflict` for a call that is closed or was resolved differently, and for a resolution of the wrong kind.
   */
  resolve(key: SessionKey, runId: string, resolutions: readonly Resolution[]): Promise<Resolved>
  /** Rejects with `run_not_found`. A merged run cancels its target. */
  cancel(key: SessionKey, runId: string): Promise<Cancelled>
}
