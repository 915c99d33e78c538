import type { SessionKey } from '../domain/session.ts'

/** A session that the sweeper should visit, and the time since when it is due (milliseconds since 1970). */
export interface DueSession {
  readonly key: SessionKey
  readonly due: number
}

/**
 * Work that becomes due by time: sessions that are due or expired. All operations may be repeated, late, or made by
 * several processes at once.
 */
export interface SessionJanitor {
  /**
   * At most `limit` sessions whose `due` has passed, live or deleted, oldest first. If there are more, each tenant gets
   * a share, oldest first, so one tenant's backlog does not hide another tenant's session.
   */
  due(now: number, limit: number): Promise<readonly DueSession[]>
  /**
   * Moves `due` to `until` if it has not changed since it was read, so that served sessions come after the others. If
   * new work has moved `due` meanwhile, it stays. Returns whether it was moved.
   */
  postpone(seen: DueSession, until: number): Promise<boolean>
  /** Removes `due` if there is still no work (session-protocol, Sweeper). Returns whether it was removed. */
  clearDue(key: SessionKey): Promise<boolean>
  /**
   * At most `limit` live sessions without work whose `ttlDays` have passed without activity, oldest first. Sessions
   * that cannot be deleted now do not delay others.
   */
  expired(now: number, limit: number): Promise<readonly SessionKey[]>
  /**
   * Migrates at most `limit` sessions of an earlier version: stores the fields that lists show (`SessionStore`),
   * without counting as activity. Returns whether others may be left. A session that cannot be read rejects once, and
   * does not delay others after that.
   */
  adopt(limit: number): Promise<boolean>
}
