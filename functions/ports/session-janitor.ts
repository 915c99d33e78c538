import type { SessionKey } from '../domain/session.ts'

/** A session that the sweeper should visit, with the time at which it became due (milliseconds since 1970). */
export interface DueSession {
  readonly key: SessionKey
  readonly due: number
}

/**
 * Finds and updates sessions that become due or expire by time. All operations may be repeated, may come late, and may be called
 * by several processes at once.
 */
export interface SessionJanitor {
  /**
   * Lists at most `limit` sessions, live or deleted, whose `due` has passed, oldest first. If there are more, each tenant gets a
   * share, so that one tenant's backlog does not hide another tenant's sessions.
   */
  due(now: number, limit: number): Promise<readonly DueSession[]>
  /**
   * Moves `due` to `until`, so that a served session comes after the others. If `due` has changed since it was read,
   * does nothing, because new work may have changed it. Returns whether `due` was moved.
   */
  postpone(seen: DueSession, until: number): Promise<boolean>
  /** Removes `due` if the session still has no work (session-protocol, Sweeper). Returns whether `due` was removed. */
  clearDue(key: SessionKey): Promise<boolean>
  /**
   * Lists at most `limit` live sessions that are expired, oldest first: they have no work, and had no activity for `ttlDays`.
   * Sessions that cannot be deleted now do not delay others.
   */
  expired(now: number, limit: number): Promise<readonly SessionKey[]>
  /**
   * Migrates at most `limit` sessions of an earlier version: stores the fields that lists show (`SessionStore`). The migration
   * does not count as activity. Returns whether more may remain. If a session cannot be read, rejects once. Later calls skip that
   * session.
   */
  adopt(limit: number): Promise<boolean>
}
