import type { JsonObject } from '../domain/json.ts'
import type { RunStatus } from '../domain/run.ts'
import type { Session, SessionKey } from '../domain/session.ts'

export interface NewSession extends SessionKey {
  readonly agent: string
  readonly owner?: string
  readonly title?: string
  readonly instructions?: string
  readonly metadata: JsonObject
  readonly ownerBound?: true
  /** Days without activity after which the session is deleted. */
  readonly ttlDays?: number
}

/** A field that is left out stays; null removes it. */
export interface SessionChange {
  readonly title?: string | null
  readonly metadata?: JsonObject
  readonly agent?: string
  readonly instructions?: string | null
}

export interface SessionFilter {
  readonly tenant: string
  readonly owner?: string
  readonly agent?: string
  readonly runStatus?: RunStatus
  readonly limit: number
  readonly after?: string
}

/** Sessions as their users see them. Reads see every write that was acknowledged before. */
export interface SessionStore {
  /** Rejects with `session_exists` when the id is taken, or was deleted less than 30 days ago. */
  create(session: NewSession): Promise<Session>
  /** Undefined for unknown and deleted sessions. */
  read(key: SessionKey): Promise<Session | undefined>
  /**
   * Newest activity first. A page may hold fewer than `limit` sessions, or none, although more follow: `next` tells. So the
   * work for one page is bounded however few sessions match. A session whose activity moves between two pages may be seen
   * twice, never missed for good. Rejects with `invalid_query` for a cursor that it did not give out.
   */
  list(filter: SessionFilter): Promise<{ sessions: readonly Session[]; next?: string }>
  /** Rejects with `session_not_found`. Fenced: a deleted session stays untouched. */
  update(key: SessionKey, change: SessionChange): Promise<Session>
  /** Sets `ownerBound` for good, without counting as activity. Rejects with `session_not_found`. */
  bindToOwner(key: SessionKey): Promise<void>
}
