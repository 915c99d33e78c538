import type { JsonObject } from '../../../domain/json.ts'
import { isLeaders, OPEN_STATUSES } from '../../../domain/messages/message.ts'
import type { Message, UserMessage } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { partUrl } from '../../v1/messages/resource.ts'
import { findArguments } from '../../v1/messages/call-arguments.ts'
import { blockItem, blocksOf, callItem, callOutputItem } from './response-items.ts'

/** An item of a conversation, and the id of its message. */
export interface PlacedItem {
  readonly item: JsonObject & { readonly id: string }
  readonly message: string
}

/** Converts messages of a log to items, in order. A team member's messages yield only its calls to the client. */
export async function itemsOf(reader: LogReader, key: SessionKey, messages: readonly Message[]): Promise<PlacedItem[]> {
  const argumentsOf = findArguments(reader, key, messages)
  const found = await Promise.all(
    messages.map(async (message): Promise<PlacedItem[]> => {
      const items = await itemsOfMessage(message)
      return items.map((item) => ({ item: { ...item }, message: message.id }))
    }),
  )
  return found.flat()

  async function itemsOfMessage(message: Message): Promise<readonly { readonly id: string }[]> {
    if (message.role === 'tool') {
      if (message.needs !== 'result' && (!isLeaders(message) || OPEN_STATUSES.includes(message.status))) return []
      const call = callItem({ message, arguments: await argumentsOf(message) })
      return OPEN_STATUSES.includes(message.status) ? [call] : [call, callOutputItem(message)]
    }
    if (!isLeaders(message)) return []
    if (message.role === 'user') return [userItem(key.session, message)]
    return blocksOf(message).map((block) => blockItem(block, 'completed'))
  }
}

/** A user's message as an item. Media are shown as links, because the log does not contain their bytes. */
function userItem(session: string, { id, parts }: UserMessage): JsonObject & { readonly id: string } {
  const content = parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return [{ type: 'input_text', text: part.text }]
    if (part.type === 'note') return []
    const url = partUrl(session, id, part.id)
    return part.type === 'image'
      ? [{ type: 'input_image', image_url: url, file_id: null, detail: 'auto' }]
      : [{ type: 'input_file', file_url: url, filename: part.filename ?? null }]
  })
  return { id: `msg_${id}`, type: 'message', status: 'completed', role: 'user', content }
}

const BLOCK_OR_CALL = /^(?:msg|rs|fc|fco)_([0-7][0-9A-HJKMNP-TV-Z]{25})_([0-9]{1,6})_([0-9]{1,6})/
const WHOLE = /^(?:msg|fc|fco)_([0-7][0-9A-HJKMNP-TV-Z]{25})$/
/** Page size, in messages, when a message is searched by its round. */
const PAGE = 200

/** Finds the message that an item's id belongs to; undefined if there is none. */
export async function messageOfItem(reader: LogReader, key: SessionKey, id: string): Promise<string | undefined> {
  const [, whole] = WHOLE.exec(id) ?? []
  if (whole !== undefined) return (await reader.message(key, whole))?.id
  const [, run, round, place] = BLOCK_OR_CALL.exec(id) ?? []
  if (run === undefined) return undefined
  const isCall = id.startsWith('fc')
  for (let after: string | undefined; ;) {
    const query = {
      run,
      order: 'ascending',
      limit: PAGE,
      roles: [isCall ? 'tool' : 'assistant'],
      ...(after && { after }),
    } as const
    const { messages, more } = await reader.messages(key, query)
    const found = messages.find(
      (one) => isLeaders(one) && one.round === Number(round) && (one.role !== 'tool' || one.sequence === Number(place)),
    )
    if (found !== undefined) return found.id
    after = messages.at(-1)?.id
    if (!more || after === undefined) return undefined
  }
}
