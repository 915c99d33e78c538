import { createSession } from '../../../access/sessions.ts'
import type { Caller } from '../../../access/caller.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { nextId } from '../../../domain/ids.ts'
import type { Message } from '../../../domain/messages/message.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Session } from '../../../domain/session.ts'
import { fitting, MAX_PAGE_BYTES } from '../../../log/page-bytes.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import { closedHistory } from '../sessions/chat-session.ts'
import { findConversation } from './accept-response.ts'
import { itemsOf, messageOfItem } from './conversation-items.ts'
import type { PlacedItem } from './conversation-items.ts'
import { readConversationItems } from './response-input.ts'
import type { ConversationRequest, ItemList } from './conversation-schemas.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Creates a session whose log begins with these items. */
export async function makeConversation(
  dependencies: RouteDependencies,
  caller: Caller,
  { items, metadata }: ConversationRequest,
) {
  const { service, agents, clock } = dependencies
  const { instructions, history } = readConversationItems(items ?? [])
  const closed = closedHistory({ history, results: [] })
  // Each Response names its own agent. This one applies only until the first Response.
  const agent = [...agents.keys()].find((name) => caller.key?.agents?.includes(name) ?? true) ?? 'default'
  const made = { session: nextId(undefined, clock.now()), agent, metadata: metadata ?? {} }
  const session = await createSession(dependencies, caller, { ...made, ...definedFields({ instructions }) })
  if (closed.length > 0) await service.importMessages(session, closed, { source: 'conversations' })
  return conversationResource(session)
}

/** The session as a conversation. */
export const showConversation = async (dependencies: RouteDependencies, caller: Caller, id: string) =>
  conversationResource(await findConversation(dependencies, caller, id))

/** Reads a page of the session's log as items. */
export async function pageOfItems(dependencies: RouteDependencies, caller: Caller, id: string, query: ItemQuery) {
  const { builds, shared } = dependencies
  const session = await findConversation(dependencies, caller, id)
  const name = jsonText(['items', session.session, query])
  const page = await builds.build(caller.tenant, name, async () =>
    Buffer.from(jsonText(await itemPage(dependencies, session, query))),
  )
  return bytesResponse<ItemList>(shared.of(caller.tenant), page)
}

const conversationResource = ({ session, createdAt, metadata }: Session) => ({
  id: session,
  object: 'conversation' as const,
  created_at: Math.floor(createdAt / 1_000),
  metadata,
})

interface ItemQuery {
  readonly after?: string | undefined
  readonly limit: number
  readonly order: 'asc' | 'desc'
}

async function itemPage(
  { reader }: RouteDependencies,
  session: Session,
  { after, limit, order }: ItemQuery,
): Promise<ItemList> {
  const key = keyOf(session)
  const at = after === undefined ? undefined : await messageOfItem(reader, key, after)
  if (after !== undefined && at === undefined)
    throw invalidRequest([{ path: 'query.after', message: 'is not an item of this conversation' }])
  const isRising = order === 'asc'
  const found: PlacedItem[] = []
  const take = async (messages: readonly Message[]): Promise<void> => {
    const rising = await itemsOf(reader, key, isRising ? messages : messages.toReversed())
    found.push(...(isRising ? rising : rising.toReversed()))
  }
  const first = at === undefined ? undefined : await reader.message(key, at)
  if (first !== undefined) await take([first])
  // The cursor may be an item's id from a stream. If the item has another id now, its whole message counts as read.
  const known = found.findIndex(({ item }) => item.id === after)
  found.splice(0, known === -1 ? found.length : known + 1)
  let more = true
  for (let last = at; more && found.length <= limit;) {
    const page = await reader.messages(key, {
      order: isRising ? 'ascending' : 'descending',
      limit: limit + 1,
      mostCharacters: MAX_PAGE_BYTES,
      ...(last === undefined ? {} : isRising ? { after: last } : { before: last }),
    })
    await take(page.messages)
    last = page.messages.at(-1)?.id
    more = page.more && last !== undefined
  }
  const data = fitting(found.slice(0, limit).map(({ item }) => item))
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: more || data.length < found.length,
  }
}
