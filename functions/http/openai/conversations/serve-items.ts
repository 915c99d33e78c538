import type { Context } from 'hono'
import { enterSession } from '../../../access/sessions.ts'
import type { Caller } from '../../../access/caller.ts'
import { sha256 } from '../../../domain/hash.ts'
import type { JsonObject } from '../../../domain/json.ts'
import type { Appended, ImportName } from '../../../domain/messages/imported.ts'
import type { Message } from '../../../domain/messages/message.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Session, SessionKey } from '../../../domain/session.ts'
import { jsonText } from '../../../log/json/well-formed.ts'
import { MAX_PAGE_BYTES } from '../../../log/page-bytes.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { closedHistory } from '../sessions/chat-session.ts'
import { findConversation, orConversationNotFound } from '../responses/accept-response.ts'
import { itemsOf } from './conversation-items.ts'
import type { PlacedItem, ShownItem } from './conversation-items.ts'
import type { ItemList, ItemQuery } from './conversation-schemas.ts'
import { findItem, messageOfItem } from './item-lookup.ts'
import { listOf, unknownCursor } from './item-page.ts'
import { refuseInstructions, refuseReferences, requireClosedCalls } from './new-items.ts'
import { readConversationItems, readItems } from '../responses/request/response-input.ts'

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

/** An item of a conversation. Unknown items, and those that the caller may not see, get the same 404. */
export async function showItem(
  dependencies: RouteDependencies,
  caller: Caller,
  conversation: string,
  id: string,
): Promise<ShownItem> {
  const session = await findConversation(dependencies, caller, conversation)
  const found = await findItem(dependencies.reader, keyOf(session), id)
  if (found !== undefined) return found.item
  const errors = [{ path: 'path.item', message: 'is not an item of this conversation' }]
  throw new RequestError(404, 'item_not_found', `there is no item ${id} in this conversation`, { errors })
}

/** Rejects the deletion of an item, with the reason. */
export async function refuseItemDeletion(
  dependencies: RouteDependencies,
  caller: Caller,
  conversation: string,
  id: string,
): Promise<never> {
  await showItem(dependencies, caller, conversation, id)
  const reason = 'the log of a session only grows: fork the session before the item, or delete the conversation'
  const errors = [{ path: 'path.item', message: `cannot be deleted: ${reason}` }]
  throw new RequestError(422, 'not_supported', `an item cannot be deleted: ${reason}`, { errors })
}

/** Appends items to the log, as turns that were executed elsewhere. Returns them as they are stored. */
export async function appendItems(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  id: string,
  values: readonly JsonObject[],
): Promise<ItemList> {
  const items = readItems(values, 'body.items')
  const session = await orConversationNotFound(id, () => enterSession(dependencies, c.get('caller'), id))
  refuseReferences(items)
  refuseInstructions(items)
  const { history } = readConversationItems(items)
  requireClosedCalls(history)
  const closed = closedHistory({ history, results: [] })
  if (closed.length === 0) return listOf([], false)
  const name = await nameOf(c)
  const options = name === undefined ? { source: 'conversations' } : { source: 'conversations', name }
  const appended = await dependencies.service.importMessages(session, closed, options)
  return listOf(await appendedItems(dependencies.reader, keyOf(session), appended), false)
}

/** Returns the import's name, made from the idempotency key; undefined if the request has no such key. */
async function nameOf(c: Context<AppEnv>): Promise<ImportName | undefined> {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return undefined
  return { keyHash: sha256(`items ${key}`), bodyHash: sha256(await c.req.text()), forGood: false }
}

/** Reads the items that an import stored. The items of a repeated import were stored by its first attempt. */
async function appendedItems(reader: LogReader, key: SessionKey, appended: Appended): Promise<ShownItem[]> {
  const { first, last = '' } = appended.progress ?? appended
  const head = first === undefined ? undefined : await reader.message(key, first)
  if (head === undefined) return []
  const messages = [head]
  for (let more = head.id < last; more;) {
    const page = await reader.messages(key, { order: 'ascending', limit: PAGE, after: messages.at(-1)?.id ?? '' })
    messages.push(...page.messages.filter((message) => message.id <= last))
    more = page.more && (page.messages.at(-1)?.id ?? last) < last
  }
  return (await itemsOf(reader, key, messages)).map(({ item }) => item)
}

/** Messages in one page. An import of items has a few dozen messages at most. */
const PAGE = 100

async function itemPage(
  { reader }: RouteDependencies,
  session: Session,
  { after, limit, order }: ItemQuery,
): Promise<ItemList> {
  const key = keyOf(session)
  const first = after === undefined ? undefined : await messageOfItem(reader, key, after)
  if (after !== undefined && first === undefined) throw unknownCursor()
  const isRising = order === 'asc'
  const found: PlacedItem[] = []
  const take = async (messages: readonly Message[]): Promise<void> => {
    const rising = await itemsOf(reader, key, isRising ? messages : messages.toReversed())
    found.push(...(isRising ? rising : rising.toReversed()))
  }
  if (first !== undefined) await take([first])
  // The cursor may be an id that a stream gave to an item. If the item has another id now, its whole message counts as
  // read.
  const known = found.findIndex(({ item }) => item.id === after)
  found.splice(0, known === -1 ? found.length : known + 1)
  let more = true
  for (let last = first?.id; more && found.length <= limit;) {
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
  const shown = found.slice(0, limit).map(({ item }) => item)
  return listOf(shown, more || shown.length < found.length)
}
