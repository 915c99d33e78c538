import type { SessionKey } from '../domain/session.ts'

/** A session that the sweeper should look at, and since when (milliseconds since 1970). */
export interface DueSession {
  readonly key: SessionKey
  readonly due: number
}

/**
 * Work that time brings: sessions that are due or expired. Everything here may be done twice, late, or by several
 * processes at once.
 */
export interface SessionJanitor {
  /**
   * At most `limit` sessions whose `due` has passed, live or deleted, oldest first. If there are more, each tenant gets
   * its share, oldest first: one tenant's backlog hides no other's session.
   */
  due(now: number, limit: number): Promise<readonly DueSession[]>
  /**
   * Moves `due` to `until` if it is still what was seen: sessions that were served go behind those that were not. Work
   * that came meanwhile has moved `due`, which then stays. Returns whether it moved.
   */
  postpone(seen: DueSession, until: number): Promise<boolean>
  /** Removes `due` if there is still no work (session-protocol, Sweeper). Returns whether it removed it. */
  clearDue(key: SessionKey): Promise<boolean>
  /**
   * Live sessions without work whose `ttlDays` have passed without activity, oldest first. At most `limit`; those that cannot be
   * deleted now do not hold up others.
   */
  expired(now: number, limit: number): Promise<readonly SessionKey[]>
  /**
   * Stores what lists show for at most `limit` sessions that an earlier version stored (`SessionStore`), without activity. Returns
   * whether others may be left. A session that cannot be read rejects once, and then holds up no others.
   */
  adopt(limit: number): Promise<boolean>
}
