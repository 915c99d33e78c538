import type { ModelRequest, RequestMessage } from '../../../domain/model-request.ts'

/** Matches the place that a provider names: `messages[2].tool_calls`, `messages.1.content.0`, `input[3].call_id`. */
const PLACE = /\b(?:messages|input)[.[](\d{1,6})\b/

/**
 * Returns the index of the request's message that the words of a refusal name. A provider counts what it was sent: a system message,
 * neighbours of one role as one message, or each part as an item.
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

/** The first message of the n-th group of neighbours with one role. Results belong to the user. */
function indexOfGroup(messages: readonly RequestMessage[], wanted: number): number | undefined {
  const begins = messages.flatMap(({ role }, index) =>
    (role === 'assistant') === (messages[index - 1]?.role === 'assistant') && index > 0 ? [] : [index],
  )
  return begins[messages[0]?.role === 'user' ? wanted : wanted - 1]
}

/** The message that has the n-th item: a completion has an item for each of its parts. */
function indexOfItem(messages: readonly RequestMessage[], wanted: number): number {
  let items = 0
  return messages.findIndex((message) => {
    items += message.role === 'assistant' ? message.parts.length : 1
    return items > wanted
  })
}
