import type { Agent } from '../domain/agent.ts'
import { definedFields } from '../domain/defined-fields.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { Session, SessionKey } from '../domain/session.ts'
import type { NewSession, SessionChange, SessionStore } from '../ports/session-store.ts'
import { requireAgent } from './caller.ts'
import type { Caller } from './caller.ts'

/**
 * Finds a session that the caller may see. The error is the same for unknown sessions, deleted sessions and sessions of others.
 */
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
 * Like `findSession`, for a caller that is about to change the session. The caller must be allowed to use the
 * session's agent.
 */
export async function findChangeableSession(
  dependencies: { readonly sessions: Pick<SessionStore, 'read'> },
  caller: Caller,
  id: string,
): Promise<Session> {
  const session = await findSession(dependencies, caller, id)
  requireAgent(caller, session.agent)
  return session
}

/**
 * Like `findChangeableSession`, for a caller that is about to start a run. If the caller has an owner, the session is
 * first bound to that owner, durably. Otherwise the agent could find other owners' sessions and show their content in
 * this and later runs.
 */
export async function enterSession(
  dependencies: { readonly sessions: Pick<SessionStore, 'read' | 'bindToOwner'> },
  caller: Caller,
  id: string,
): Promise<Session> {
  const session = await findChangeableSession(dependencies, caller, id)
  return caller.owner === undefined ? session : bindSession(dependencies, session)
}

/** Binds the session to its owner, unless it is bound already. The binding is durable when the promise resolves. */
export async function bindSession(
  { sessions }: { readonly sessions: Pick<SessionStore, 'bindToOwner'> },
  session: Session,
): Promise<Session> {
  if (session.ownerBound === true) return session
  await sessions.bindToOwner(session)
  return { ...session, ownerBound: true }
}

interface ChangeDependencies {
  readonly sessions: Pick<SessionStore, 'read' | 'bindToOwner' | 'update'>
  readonly agents: ReadonlyMap<string, Agent>
}

/**
 * Changes a session for a caller that may change it. Binds the session first, like `enterSession`. A crash between the
 * two writes leaves a bound session without the change. A title alone does not bind, because no run reads it. Rejects
 * with `agent_not_found` or `agent_not_allowed`.
 */
export async function changeSession(
  dependencies: ChangeDependencies,
  caller: Caller,
  id: string,
  change: SessionChange,
): Promise<Session> {
  const session = await findChangeableSession(dependencies, caller, id)
  if (change.agent !== undefined) requireUsableAgent(dependencies.agents, caller, change.agent)
  const { title: _title, ...ofRuns } = change
  if (caller.owner !== undefined && Object.keys(ofRuns).length > 0) await bindSession(dependencies, session)
  return dependencies.sessions.update(session, change)
}

interface CreateDependencies {
  readonly sessions: Pick<SessionStore, 'create'>
  readonly agents: ReadonlyMap<string, Agent>
}

/**
 * Creates a session for the caller's tenant. If the caller has an owner, the session is bound to that owner. Rejects with
 * `agent_not_found` or `agent_not_allowed`. Rejects with `owner_not_allowed` if the caller may not create sessions for this
 * owner.
 */
export async function createSession(
  { sessions, agents }: CreateDependencies,
  caller: Caller,
  { session, owner, ...rest }: Omit<NewSession, 'tenant' | 'byChannel' | 'ttlDays'>,
): Promise<Session> {
  requireUsableAgent(agents, caller, rest.agent)
  if (!mayAct(caller, owner))
    throw new TooltrailError('owner_not_allowed', `this key can only create sessions owned by ${caller.owner}`)
  return sessions.create({
    ...sessionKey(caller, session),
    ...rest,
    ...definedFields({ owner: caller.owner ?? owner, ttlDays: agents.get(rest.agent)?.policies.ttlDays ?? undefined }),
    ...(caller.owner === undefined ? {} : { ownerBound: true as const }),
  })
}

/**
 * Whether a channel may use this session for that owner. Returns false if a key of another owner created the session.
 * Without this rule, a key could create a session with the id of the channel's next conversation, and read the
 * conversation.
 */
export const channelMayEnter = (session: Session, owner: string): boolean =>
  session.byChannel === true || session.ownerBound !== true || session.owner === owner

/**
 * Returns the owner whose sessions a list may show to the caller. If the returned object has no `owner`, the list may
 * show all sessions. Returns undefined if the caller may see none of the requested sessions.
 */
export const listedOwner = (caller: Caller, owner: string | undefined): { readonly owner?: string } | undefined =>
  mayAct(caller, owner) ? definedFields({ owner: caller.owner ?? owner }) : undefined

const mayAct = (caller: Caller, owner: string | undefined): boolean =>
  caller.owner === undefined || owner === undefined || owner === caller.owner

/** Throws `agent_not_found` or `agent_not_allowed` unless the caller may use this agent. */
export function requireUsableAgent(agents: ReadonlyMap<string, Agent>, caller: Caller, agent: string): void {
  if (!agents.has(agent)) throw new TooltrailError('agent_not_found', `there is no agent ${agent}`)
  requireAgent(caller, agent)
}

export const sessionKey = (caller: Caller, session: string): SessionKey => ({ tenant: caller.tenant, session })
