import type { JsonObject } from '../domain/json.ts'
import type { SessionKey } from '../domain/session.ts'

/** The session that has a name, and the data that were stored with the name. */
export interface Named {
  readonly session: string
  readonly about: JsonObject
}

/**
 * Names by which clients find sessions: the clients' own ids, and hashes of messages that they received. Names are
 * separate for each tenant.
 */
export interface SessionNames {
  /**
   * Gives a name to the session. If another session has the name, that session loses it. The name is durable when this resolves,
   * and the call is safe to repeat. `until` is in milliseconds since 1970; by default, the name exists as long as the session.
   * `about` has at most a few KB. Rejects with `session_not_found`.
   */
  give(key: SessionKey, name: string, about: JsonObject, until?: number): Promise<void>
  /**
   * Finds a name. Undefined if it is unknown or expired, or if its session was deleted. Names that were given before the call are
   * always found.
   */
  find(tenant: string, name: string): Promise<Named | undefined>
}
