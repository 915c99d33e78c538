import type { SessionKey } from '../domain/session.ts'

/**
 * What runs by the clock: sessions that are due or expired. Everything here may be done twice, late, or by several
 * processes at once.
 */
export interface SessionJanitor {
  /** Sessions whose `due` has passed, live or deleted, oldest first. */
  due(now: number, limit: number): Promise<readonly SessionKey[]>
  /** Removes `due` on condition that there is still no work (session-protocol, Sweeper). Answers whether it did. */
  clearDue(key: SessionKey): Promise<boolean>
  /** Live sessions whose `ttlDays` have passed without activity. */
  expired(now: number, limit: number): Promise<readonly SessionKey[]>
}
