import type { SessionDeletion } from '../../ports/session-deletion.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { sessionIdOf } from './session-id.ts'

interface Dependencies {
  readonly sessions: Pick<SessionStore, 'read'>
  readonly deletion: Pick<SessionDeletion, 'state'>
}

/** Sessions of one name that may have been deleted within 30 days. */
const MAX_DELETED_SESSIONS = 20

/**
 * The session that a conversation of this name is in, or goes into: the id of one that was deleted, by somebody or because its
 * days were over, cannot be used for 30 days, and another takes its place for as long as it lives.
 */
export async function liveSessionOf(
  { sessions, deletion }: Dependencies,
  tenant: string,
  name: string,
): Promise<string> {
  let free: string | undefined
  for (let number = 1; number <= MAX_DELETED_SESSIONS; number++) {
    const session = number === 1 ? name : sessionIdOf(`${name} ${number}`)
    const key = { tenant, session }
    if ((await sessions.read(key)) !== undefined) return session
    if ((await deletion.state(key)) !== undefined) continue
    free ??= session
    // The one that took its place outlives the 30 days.
    if (number > 1) break
  }
  return free ?? name
}
