import type { JsonObject } from '../domain/json.ts'
import type { SessionKey } from '../domain/session.ts'

/** The session of a name, and the data that was stored with the name. */
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
   * Gives a name to the session, and takes it from any other session; durable when it resolves, and safe to repeat.
   * `until` is in milliseconds since 1970; by default, the name lives as long as the session. `about` has at most a few
   * KB. Rejects with `session_not_found`.
   */
  give(key: SessionKey, name: string, about: JsonObject, until?: number): Promise<void>
  /**
   * Finds a name. Undefined if it is unknown or expired, or if its session was deleted. Sees every name given before.
   */
  find(tenant: string, name: string): Promise<Named | undefined>
}
