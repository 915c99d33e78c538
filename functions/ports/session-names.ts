import type { JsonObject } from '../domain/json.ts'
import type { SessionKey } from '../domain/session.ts'

/** What a name stands for: a session, and what its giver keeps about it. */
export interface Named {
  readonly session: string
  readonly about: JsonObject
}

/** Names under which clients find sessions again: ids of theirs, and hashes of what they were shown. A tenant's names are its own. */
export interface SessionNames {
  /**
   * Gives the session a name, in place of whatever had it; durable when it resolves, and safe to repeat. `until`: in milliseconds
   * since 1970; left out: as long as the session. `about` has some KB at most. Rejects with `session_not_found`.
   */
  give(key: SessionKey, name: string, about: JsonObject, until?: number): Promise<void>
  /** Undefined for a name that nobody has, whose time is over, or whose session was deleted. Sees every name given before. */
  find(tenant: string, name: string): Promise<Named | undefined>
}
