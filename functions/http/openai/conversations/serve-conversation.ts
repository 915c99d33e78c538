import { changeSession, createSession, findChangeableSession } from '../../../access/sessions.ts'
import type { Caller } from '../../../access/caller.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { nextId } from '../../../domain/ids.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Session } from '../../../domain/session.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { closedHistory } from '../sessions/chat-session.ts'
import { findConversation, orConversationNotFound } from '../responses/accept-response.ts'
import type { ConversationRequest } from './conversation-schemas.ts'
import { refuseReferences } from './new-items.ts'
import { readConversationItems, readItems } from '../responses/request/response-input.ts'

/** Creates a session whose log begins with these items. */
export async function makeConversation(
  dependencies: RouteDependencies,
  caller: Caller,
  { items, metadata }: ConversationRequest,
) {
  const { service, agents, clock } = dependencies
  const first = readItems(items ?? [], 'body.items')
  refuseReferences(first)
  const { instructions, history } = readConversationItems(first)
  const closed = closedHistory({ history, results: [] })
  // Each Response names its own agent, so the agent chosen here applies only until the first Response.
  const agent = [...agents.keys()].find((name) => caller.key?.agents?.includes(name) ?? true) ?? 'default'
  const made = { session: nextId(undefined, clock.now()), agent, metadata: metadata ?? {} }
  const session = await createSession(dependencies, caller, { ...made, ...definedFields({ instructions }) })
  if (closed.length > 0) await service.importMessages(session, closed, { source: 'conversations' })
  return conversationResource(session)
}

/** The session as a conversation. */
export const showConversation = async (dependencies: RouteDependencies, caller: Caller, id: string) =>
  conversationResource(await findConversation(dependencies, caller, id))

/** Replaces the metadata of a conversation. */
export const changeConversation = (
  dependencies: RouteDependencies,
  caller: Caller,
  id: string,
  metadata: JsonObject,
): Promise<Conversation> =>
  orConversationNotFound(id, async () =>
    conversationResource(await changeSession(dependencies, caller, id, { metadata })),
  )

/** Deletes the session. When the promise resolves, the session is hidden, but some of its rows may still exist. */
export const removeConversation = (dependencies: RouteDependencies, caller: Caller, id: string) =>
  orConversationNotFound(id, async () => {
    const session = await findChangeableSession(dependencies, caller, id)
    await dependencies.service.deleteSession(keyOf(session))
    return { id, object: 'conversation.deleted' as const, deleted: true as const }
  })

type Conversation = ReturnType<typeof conversationResource>

const conversationResource = ({ session, createdAt, metadata }: Session) => ({
  id: session,
  object: 'conversation' as const,
  created_at: Math.floor(createdAt / 1_000),
  metadata,
})
