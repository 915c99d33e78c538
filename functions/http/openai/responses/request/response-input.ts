import { definedFields } from '../../../../domain/defined-fields.ts'
import type { JsonObject } from '../../../../domain/json.ts'
import { parseItems } from '../../../middleware/validation.ts'
import { bytesOf, imageOf, refused, refuseRepeated, textOf } from '../../chat/chat-request.ts'
import type { ChatInput, PlacedMessage } from '../../chat/chat-request.ts'
import type { ChatMessage } from '../../chat/chat-schemas.ts'
import type { RequestPart } from '../../../v1/messages/incoming-images.ts'
import { namespacedName, readTools } from './request-tools.ts'
import type { RequestTools } from './request-tools.ts'
import { responseSettings } from '../../settings-fields.ts'
import { inputItem } from '../response-schemas.ts'
import type { InputItem, ResponseRequest } from '../response-schemas.ts'

type UserItem = Extract<InputItem, { role: 'user' }>
type UserMessage = Extract<ChatMessage, { role: 'user' }>
type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>

/** Reads the items of a request. */
export const readInput = (input: ResponseRequest['input']): InputItem[] =>
  typeof input === 'string' ? [userText(input)] : readItems(input, 'body.input')

/**
 * Converts a request for a Response to our format. `items`: the items of the request's input, with each reference
 * already replaced by its item. As in Chat Completions, the texts of system messages become the session's
 * `instructions`.
 */
export function readResponseRequest(
  body: Pick<ResponseRequest, 'tools' | 'tool_choice' | 'metadata'>,
  items: readonly InputItem[],
): ChatInput & Pick<RequestTools, 'ignored'> {
  const talk = readItemsAsMessages(items)
  const last = talk.findLastIndex(({ message }) => message.role === 'assistant')
  const fresh = talk.slice(last + 1)
  const results = fresh.flatMap(({ message, at }) =>
    message.role === 'tool'
      ? [
          {
            result: { toolCallId: message.tool_call_id, output: [textPart(textOf(message.content))] },
            message,
            at,
            field: `${at}.call_id`,
          },
        ]
      : [],
  )
  refuseRepeated(results)
  const said = fresh.flatMap(({ item, at }) =>
    item.type === 'message' && item.role === 'user' ? [{ parts: partsOf(item, at), at }] : [],
  )
  return {
    instructions: systemText(items),
    history: talk.slice(0, last + 1),
    results,
    fresh,
    said,
    ...readTools(body),
    settings: responseSettings(body, namespacedName),
    metadata: body.metadata === null || Object.keys(body.metadata ?? {}).length === 0 ? undefined : body.metadata,
  }
}

/** Rejects a request without a new message or output. */
export function requireNewInput({ said, results }: Pick<ChatInput, 'said' | 'results'>): void {
  if (said.length === 0 && results.length === 0)
    throw refused('input', 'must end with a user message or outputs of calls')
}

/** Converts items of a conversation. */
export function readConversationItems(items: readonly InputItem[]): Pick<ChatInput, 'instructions' | 'history'> {
  return { instructions: systemText(items), history: readItemsAsMessages(items, 'items') }
}

const userText = (content: string): InputItem => ({ type: 'message', role: 'user', content })
const textPart = (text: string) => ({ type: 'text' as const, text })

export const readItems = (values: readonly JsonObject[], path: string): InputItem[] =>
  parseItems(path, inputItem, values)

function systemText(items: readonly InputItem[]): string | undefined {
  const texts = items.flatMap((item) =>
    item.type === 'message' && (item.role === 'system' || item.role === 'developer') ? [textOf(item.content)] : [],
  )
  return texts.length === 0 ? undefined : texts.join('\n\n')
}

/** Converts the items of an output, as a client sends them back. */
export const messagesOfOutput = (items: readonly JsonObject[]): ChatMessage[] =>
  readItemsAsMessages(readItems(items, 'output')).map(({ message }) => message)

interface PlacedItem extends PlacedMessage {
  readonly item: InputItem
}

/**
 * Converts items to Chat Completions messages. The calls of one completion become one message; reasoning is ignored.
 */
function readItemsAsMessages(items: readonly InputItem[], name = 'input'): PlacedItem[] {
  const placed: PlacedItem[] = []
  for (const [index, item] of items.entries()) {
    const message = messageOf(item)
    if (message === undefined) continue
    const before = placed.at(-1)
    const isMore = item.type === 'function_call' && before?.message.role === 'assistant'
    if (isMore)
      placed.splice(-1, 1, {
        ...before,
        message: joined(before.message as AssistantMessage, message as AssistantMessage),
      })
    else placed.push({ message, at: `${name}[${index}]`, item })
  }
  return placed
}

const joined = (before: AssistantMessage, after: AssistantMessage): AssistantMessage => ({
  ...before,
  tool_calls: [...(before.tool_calls ?? []), ...(after.tool_calls ?? [])],
})

function messageOf(item: InputItem): ChatMessage | undefined {
  switch (item.type) {
    case 'reasoning':
    case 'item_reference':
      return undefined
    case 'function_call':
      return {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: item.call_id, type: 'function', function: calledFunction(item) }],
      }
    case 'function_call_output':
      return { role: 'tool', tool_call_id: item.call_id, content: textOf(item.output) }
    case 'message':
      if (item.role === 'user') return { role: 'user', content: userContent(item.content) }
      if (item.role !== 'assistant') return undefined
      return { role: 'assistant', content: assistantText(item.content) }
  }
}

const calledFunction = ({ name, namespace, arguments: text }: Extract<InputItem, { type: 'function_call' }>) => ({
  name: namespacedName(namespace, name),
  arguments: text,
})

const assistantText = (content: Extract<InputItem, { role: 'assistant' }>['content']): string =>
  typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : part.refusal)).join('')

function userContent(content: UserItem['content']): UserMessage['content'] {
  if (typeof content === 'string') return content
  return content.map((part) => {
    if (part.type === 'input_image') return { type: 'image_url' as const, image_url: { url: part.image_url ?? '' } }
    if (part.type !== 'input_file') return textPart(part.text)
    return { type: 'file' as const, file: definedFields({ filename: part.filename, file_data: part.file_data ?? '' }) }
  })
}

function partsOf({ content }: UserItem, at: string): RequestPart[] {
  if (typeof content === 'string') return [textPart(content)]
  return content.map((part, index): RequestPart => {
    const path = `${at}.content[${index}]`
    if (part.type === 'input_image') return imageOf(part.image_url ?? '', `${path}.image_url`)
    if (part.type !== 'input_file') return textPart(part.text)
    const { filename } = part
    return { type: 'file', ...bytesOf(part.file_data ?? '', `${path}.file_data`, ''), ...definedFields({ filename }) }
  })
}
