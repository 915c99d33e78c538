import type { Summary } from './context.ts'
import type { JsonObject } from './json.ts'
import type { RunStatus } from './runs/run.ts'
import type { SessionMessages } from './session-messages.ts'
import type { TitleSource } from './session-title.ts'
import { NO_USAGE } from './usage/usage.ts'
import type { Usage } from './usage/usage.ts'

/** Identifies a session; every key of every store contains both fields. */
export interface SessionKey {
  readonly tenant: string
  readonly session: string
}

/** Picks the key from an object with more fields. */
export const keyOf = ({ tenant, session }: SessionKey): SessionKey => ({ tenant, session })

/**
 * The right to extend one session's log. The holder passes the lease to every write, and the store compares its
 * `generation`.
 */
export interface Lease extends SessionKey {
  readonly generation: number
  /**
   * A new nonce for each attempt. After a lost response, the nonce shows whether this attempt started the run or
   * acquired the lease. A store may prefix it with the name of the process.
   */
  readonly owner: string
  readonly runId: string
  /** Expiry of the lease, in milliseconds since 1970. */
  readonly until: number
  /** The log's last id when the lease was read; new ids are greater. */
  readonly head: string | undefined
}

/** How long a lease lasts after its last heartbeat was sent. */
export const LEASE_MS = 60_000
export const HEARTBEAT_MS = 15_000
/** A holder stops when its lease expires within this time and no heartbeat has succeeded. */
export const LEASE_MARGIN_MS = 10_000

/**
 * Milliseconds after the last step of an interrupted copy until the session with the partial copy is deleted.
 * Idempotency keys are remembered for the same time. A repeated request can continue the copy until then.
 */
export const COPY_EXPIRY_MS = 86_400_000

/** The coordination state of a session (session-protocol, Fields). It is small, and read with strong consistency. */
export interface SessionHeader extends SessionKey {
  readonly status: 'live' | 'deleted'
  /** Raised with every acquisition and release of the lease. */
  readonly generation: number
  /** Absent if the lease is released. */
  readonly lease?: { readonly owner: string; readonly until: number }
  readonly activeRun?: string
  readonly paused: boolean
  /** Number of tool rows in status `waiting`. */
  readonly waiting: number
  /** Number of run items in status `queued`. */
  readonly queued: number
  /** The id of the last accepted run. */
  readonly tail?: string
  /** The id of the last message. */
  readonly head?: string
  readonly cancel?: { readonly run: string; readonly reason: 'user' | 'superseded' }
  /** Number of times that an expired lease was taken over since the last message. */
  readonly takeovers: number
  /** When the sweeper should visit the session, in milliseconds since 1970. Absent: nothing to do. */
  readonly due?: number
}

/** Whether no process holds the lease, or the lease has expired. */
export const isFree = (header: SessionHeader, now: number): boolean =>
  header.lease === undefined || header.lease.until < now

/** Whether the run is paused, has waiting calls, and has no cancel request. */
export const isBlocked = (header: SessionHeader): boolean =>
  header.paused && header.waiting > 0 && header.cancel === undefined

/** A session as users see it. Times are in milliseconds since 1970. */
export interface Session extends SessionKey {
  readonly agent: string
  readonly owner?: string
  /** The default `user` of its inputs. */
  readonly user?: string
  readonly title?: string
  /** Present if `title` is. */
  readonly titleSource?: TitleSource
  readonly instructions?: string
  readonly metadata: JsonObject
  /**
   * Set after an owner-bound caller has acted in this session. Such a caller may access only its own owner's sessions.
   * From then on, the session's runs cannot see other owners' sessions, even if their agent may search more.
   */
  readonly ownerBound?: true
  /**
   * Set if a channel created this session. The channel keeps using the session, even after another owner's caller has
   * acted there.
   */
  readonly byChannel?: true
  /** For a fork: the session that was copied, and the last message that was copied. */
  readonly forkedFrom?: ForkedFrom
  readonly createdAt: number
  /** Time of the last start or end of a run, or of the last PATCH. */
  readonly updatedAt: number
  /** The run that was accepted or executed last. */
  readonly run?: { readonly id: string; readonly status: RunStatus }
  readonly totals: SessionTotals
  readonly messages: SessionMessages
  /** Replaces the older part of the conversation in requests. */
  readonly summary?: Summary
}

/** The fields of a session that lists of other resources show. */
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

/** The totals of a session without runs. */
export const NO_TOTALS: SessionTotals = { runs: 0, rounds: 0, usage: NO_USAGE, byAgent: {} }
