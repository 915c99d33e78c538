import { isLeaders } from '../../../domain/messages/message.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { itemsOf } from './conversation-items.ts'
import type { PlacedItem } from './conversation-items.ts'

/** Matches the id of a block or a call. The id contains the run's id, the round, and the index in that round. */
const BLOCK_OR_CALL = /^(msg|rs|fc|fco)_([0-7][0-9A-HJKMNP-TV-Z]{25})_([0-9]{1,6})_([0-9]{1,6})(?:r[0-9]{1,6})?$/
/** Matches the id of an input or of a member's call. The id contains the id of the message. */
const WHOLE = /^(?:msg|fc|fco)_([0-7][0-9A-HJKMNP-TV-Z]{25})$/
/** Page size in messages, and in characters, for the search of a run's items. */
const PAGE = 200
const PAGE_CHARACTERS = 1_000_000

/** The place of an item in the log, according to its id. */
export type ItemPlace =
  | { readonly message: string }
  | { readonly run: string; readonly round: number; readonly index: number; readonly isCall: boolean }

/** Reads an item's id. Undefined if no item has such an id. */
export function placeOfItem(id: string): ItemPlace | undefined {
  const [, message] = WHOLE.exec(id) ?? []
  if (message !== undefined) return { message }
  const [, kind = '', run, round, index] = BLOCK_OR_CALL.exec(id) ?? []
  return run === undefined
    ? undefined
    : { run, round: Number(round), index: Number(index), isCall: kind.startsWith('fc') }
}

/** Finds the message that an item's id belongs to; undefined if there is none. */
export async function messageOfItem(reader: LogReader, key: SessionKey, id: string): Promise<Message | undefined> {
  const place = placeOfItem(id)
  if (place === undefined) return undefined
  if ('message' in place) return reader.message(key, place.message)
  for await (const messages of messagesOfRun(reader, key, place.run, place.isCall ? ['tool'] : ['assistant'])) {
    const found = messages.find((message) => holds(message, place))
    if (found !== undefined) return found
  }
  return undefined
}

/** Finds an item of the session; undefined if it has no such item. */
export async function findItem(reader: LogReader, key: SessionKey, id: string): Promise<PlacedItem | undefined> {
  const message = await messageOfItem(reader, key, id)
  return message && (await itemsOf(reader, key, [message])).find(({ item }) => item.id === id)
}

/** Finds several items of one run, which is read once. Returns the found items by id. */
export async function findItemsOfRun(
  reader: LogReader,
  key: SessionKey,
  run: string,
  ids: ReadonlySet<string>,
): Promise<Map<string, PlacedItem>> {
  const found = new Map<string, PlacedItem>()
  const rounds = new Set([...ids].map((id) => roundOf(placeOfItem(id))))
  for await (const messages of messagesOfRun(reader, key, run, ['assistant', 'tool'])) {
    const wanted = messages.filter((message) => isLeaders(message) && rounds.has(message.round))
    for (const one of await itemsOf(reader, key, wanted)) if (ids.has(one.item.id)) found.set(one.item.id, one)
    if (found.size === ids.size) break
  }
  return found
}

const roundOf = (place: ItemPlace | undefined): number | undefined =>
  place !== undefined && 'round' in place ? place.round : undefined

const holds = (message: Message, { round, index, isCall }: Extract<ItemPlace, { run: string }>): boolean =>
  isLeaders(message) && message.round === round && (!isCall || (message.role === 'tool' && message.sequence === index))

async function* messagesOfRun(
  reader: LogReader,
  key: SessionKey,
  run: string,
  roles: readonly Message['role'][],
): AsyncGenerator<readonly Message[]> {
  for (let after: string | undefined; ;) {
    const from = after === undefined ? {} : { after }
    const page = { order: 'ascending', limit: PAGE, mostCharacters: PAGE_CHARACTERS } as const
    const { messages, more } = await reader.messages(key, { ...page, run, roles, ...from })
    yield messages
    after = messages.at(-1)?.id
    if (!more || after === undefined) return
  }
}
