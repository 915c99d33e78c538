import type { Summary } from './context.ts'
import type { JsonObject } from './json.ts'
import type { RunStatus } from './runs/run.ts'
import type { SessionMessages } from './session-messages.ts'
import type { TitleSource } from './session-title.ts'
import { NO_USAGE } from './usage/usage.ts'
import type { Usage } from './usage/usage.ts'

/** Names one session; every key of every store has both. */
export interface SessionKey {
  readonly tenant: string
  readonly session: string
}

/** Picks the key from something that has more fields. */
export const keyOf = ({ tenant, session }: SessionKey): SessionKey => ({ tenant, session })

/** The right to extend one session's log; the holder passes it to every write, which compares its `generation`. */
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

/** A lease lasts this long after its last heartbeat was sent. */
export const LEASE_MS = 60_000
export const HEARTBEAT_MS = 15_000
/** A holder stops when its lease is this close to its end without a successful heartbeat. */
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
  readonly cancel?: { readonly run: string; readonly reason: 'user' | 'superseded' }
  /** Takes of an expired lease since the last message. */
  readonly takeovers: number
  /** When the sweeper should look, milliseconds since 1970. Absent: nothing to do. */
  readonly due?: number
}

/** No lease, or one that has ended. */
export const isFree = (header: SessionHeader, now: number): boolean =>
  header.lease === undefined || header.lease.until < now

/** The run is paused, has waiting calls, and has no cancel request. */
export const isBlocked = (header: SessionHeader): boolean =>
  header.paused && header.waiting > 0 && header.cancel === undefined

/** A session as its users see it. Times in milliseconds since 1970. */
export interface Session extends SessionKey {
  readonly agent: string
  readonly owner?: string
  /** Who writes in it: the `user` of inputs that name none. */
  readonly user?: string
  readonly title?: string
  /** There if `title` is. */
  readonly titleSource?: TitleSource
  readonly instructions?: string
  readonly metadata: JsonObject
  /**
   * A caller limited to its owner's sessions has acted in this one. From then on its runs see no other owner's sessions
   * either, whatever their agent may search.
   */
  readonly ownerBound?: true
  /** A channel has made it, and goes on in it whoever else has acted there. */
  readonly byChannel?: true
  /** It began as a copy of this session's log, up to and with this message. */
  readonly forkedFrom?: ForkedFrom
  readonly createdAt: number
  /** Set at a run's start and end, and by PATCH. */
  readonly updatedAt: number
  /** The latest run accepted or executed. */
  readonly run?: { readonly id: string; readonly status: RunStatus }
  readonly totals: SessionTotals
  readonly messages: SessionMessages
  /** Stands for the older conversation in requests. */
  readonly summary?: Summary
}

/** What a list of other things shows of their sessions. */
export type SessionLabel = Pick<Session, 'title' | 'metadata'>

export interface ForkedFrom {
  readonly session: string
  readonly messageId: string
}

export interface SessionTotals {
  readonly runs: number
  readonly rounds: number
  readonly usage: Usage
  readonly byAgent: { readonly [agent: string]: Usage }
}

/** The totals of a session that has not run yet. */
export const NO_TOTALS: SessionTotals = { runs: 0, rounds: 0, usage: NO_USAGE, byAgent: {} }
