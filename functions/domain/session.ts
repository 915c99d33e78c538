import type { JsonObject } from './json.ts'
import type { RunStatus } from './run.ts'
import type { Usage } from './usage.ts'

/** Names one session; every key of every store carries both. */
export interface SessionKey {
  readonly tenant: string
  readonly session: string
}

/** The names alone, of something that carries more. */
export const keyOf = ({ tenant, session }: SessionKey): SessionKey => ({ tenant, session })

/** The right to extend one session's log; carried by its holder, compared by `generation` in every write. */
export interface Lease extends SessionKey {
  readonly generation: number
  /** A fresh nonce for each attempt: tells whether a start or take whose response was lost was ours. */
  readonly owner: string
  readonly runId: string
  /** Milliseconds since 1970. */
  readonly until: number
  /** The log's last id when the lease was read; later ids go on from here. */
  readonly head: string | undefined
}

/** A lease lasts this long after the last heartbeat was sent. */
export const LEASE_MS = 60_000
export const HEARTBEAT_MS = 15_000
/** A holder this close to its lease's end without a successful heartbeat stops. */
export const LEASE_MARGIN_MS = 10_000

/** The coordination state of a session (session-protocol, Fields). Small, and read strongly. */
export interface SessionHeader extends SessionKey {
  readonly status: 'live' | 'deleted'
  /** Grows at every take and every release. */
  readonly generation: number
  /** Absent: released. */
  readonly lease?: { readonly owner: string; readonly until: number }
  readonly activeRun?: string
  readonly paused: boolean
  /** Tool rows in status `waiting`. */
  readonly waiting: number
  /** Run items in status `queued`. */
  readonly queued: number
  /** Last accepted run id. */
  readonly tail?: string
  /** Last message id. */
  readonly head?: string
  /** The active run's latest leader assistant message. */
  readonly floor?: string
  readonly cancel?: { readonly run: string; readonly reason: 'user' | 'superseded' }
  /** Takes of an expired lease since the last message. */
  readonly takeovers: number
  /** When the sweeper should look, milliseconds since 1970. Absent: nothing to do. */
  readonly due?: number
}

/** No lease, or one that has ended. */
export const isFree = (header: SessionHeader, now: number): boolean =>
  header.lease === undefined || header.lease.until < now

/** A paused run whose calls still wait and that is not to be cancelled. */
export const isBlocked = (header: SessionHeader): boolean =>
  header.paused && header.waiting > 0 && header.cancel === undefined

/** A session as its users see it. Times in milliseconds since 1970. */
export interface Session extends SessionKey {
  readonly agent: string
  readonly owner?: string
  readonly title?: string
  readonly instructions?: string
  readonly metadata: JsonObject
  /**
   * A caller that may see only its owner's sessions has acted in it. From then on its runs see no more than that either,
   * whatever their agent may search.
   */
  readonly ownerBound?: true
  readonly createdAt: number
  /** Moved at a run's start and end, and by PATCH. */
  readonly updatedAt: number
  /** The latest run accepted or executed. */
  readonly run?: { readonly id: string; readonly status: RunStatus }
  readonly totals: SessionTotals
}

export interface SessionTotals {
  readonly runs: number
  readonly rounds: number
  readonly usage: Usage
  readonly byAgent: { readonly [agent: string]: Usage }
}
