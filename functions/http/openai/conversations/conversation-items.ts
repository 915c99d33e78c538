import type { JsonObject } from '../../../domain/json.ts'
import { isLeaders, OPEN_STATUSES } from '../../../domain/messages/message.ts'
import type { Message, UserMessage } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { partUrl } from '../../v1/messages/resource.ts'
import { findArguments } from '../../v1/messages/call-arguments.ts'
import { blockItem, blocksOf, callItem, callOutputItem } from '../responses/response-items.ts'

export type ShownItem = JsonObject & { readonly id: string }

/** An item of a conversation, and the id of its message. */
export interface PlacedItem {
  readonly item: ShownItem
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
function userItem(session: string, { id, parts }: UserMessage): ShownItem {
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
