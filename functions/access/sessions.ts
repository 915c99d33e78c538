import { TooltrailError } from '../domain/errors.ts'
import type { Session, SessionKey } from '../domain/session.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { requireAgent } from './caller.ts'
import type { Caller } from './caller.ts'

/** The session, when the caller may see it; unknown, deleted and foreign ones are refused alike. */
export async function findSession(
  { sessions }: { readonly sessions: Pick<SessionStore, 'read'> },
  caller: Caller,
  id: string,
): Promise<Session> {
  const session = await sessions.read(sessionKey(caller, id))
  if (session === undefined || (caller.owner !== undefined && session.owner !== caller.owner))
    throw new TooltrailError('session_not_found', `there is no session ${id}`)
  return session
}

/**
 * As `findSession`, for who is about to make its agent work. The agent must be one that the caller may use. A caller with an
 * owner binds the session to that owner first, durably: what an agent may search beyond it would come back in its answers, also
 * in those of later runs.
 */
export async function enterSession(
  dependencies: { readonly sessions: Pick<SessionStore, 'read' | 'bindToOwner'> },
  caller: Caller,
  id: string,
): Promise<Session> {
  const session = await findSession(dependencies, caller, id)
  requireAgent(caller, session.agent)
  if (caller.owner === undefined || session.ownerBound === true) return session
  await dependencies.sessions.bindToOwner(session)
  return { ...session, ownerBound: true }
}

export const sessionKey = (caller: Caller, session: string): SessionKey => ({ tenant: caller.tenant, session })
