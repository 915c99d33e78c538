import type { ModelRequest, RequestMessage } from '../../../domain/model-request.ts'

/** Matches the path of a message in a provider's error: `messages[2].tool_calls`, `messages.1.content.0`, `input[3].call_id`. */
const PLACE = /\b(?:messages|input)[.[](\d{1,6})\b/

/**
 * Returns the index of the request's message that a provider's refusal names. The refusal has the message's index in
 * the list that the provider received. This list may begin with a system message, join neighbouring messages of one
 * role, or have one item for each part.
 */
export function refusedIndex(words: string, request: ModelRequest, provider: string): number | undefined {
  const place = PLACE.exec(words)?.[1]
  if (place === undefined) return undefined
  const counted = Number(place)
  const { messages } = request
  if (provider === 'anthropic' || provider === 'bedrock') return indexOfGroup(messages, counted)
  const index = counted - (request.instructions === undefined ? 0 : 1)
  const found = provider === 'openai' ? indexOfItem(messages, index) : index
  return messages[found] === undefined ? undefined : found
}

/**
 * Returns the index of the first message in the n-th group. A group has neighbouring messages of one role. Results
 * count as messages of the user.
 */
function indexOfGroup(messages: readonly RequestMessage[], wanted: number): number | undefined {
  const begins = messages.flatMap(({ role }, index) =>
    (role === 'assistant') === (messages[index - 1]?.role === 'assistant') && index > 0 ? [] : [index],
  )
  return begins[messages[0]?.role === 'user' ? wanted : wanted - 1]
}

/**
 * Returns the index of the message that contains the n-th item. A completion has one item for each of its parts. Any
 * other message is one item.
 */
function indexOfItem(messages: readonly RequestMessage[], wanted: number): number {
  let items = 0
  return messages.findIndex((message) => {
    items += message.role === 'assistant' ? message.parts.length : 1
    return items > wanted
  })
}
