import { TooltrailError } from '../domain/errors.ts'
import type { Session, SessionKey } from '../domain/session.ts'
import type { SessionStore } from '../ports/session-store.ts'
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

export const sessionKey = (caller: Caller, session: string): SessionKey => ({ tenant: caller.tenant, session })
