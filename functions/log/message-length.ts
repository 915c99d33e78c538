import type { Message } from '../domain/message.ts'

/** Characters of a message's content: its texts, and the arguments of its calls. */
export function messageLength(message: Message): number {
  let length = 0
  for (const part of message.parts) if ('text' in part) length += part.text.length
  if (message.role === 'assistant') for (const call of message.toolCalls) length += call.arguments.length
  if (message.role === 'tool') length += message.call.length
  return length
}

/** Takes messages for a page that ends when their content comes to `most` characters, with one message at least. */
export function createPage(limit: number, most = Number.POSITIVE_INFINITY) {
  const messages: Message[] = []
  let length = 0
  return {
    messages,
    /** Whether the message was taken; the first that is not is where the next page begins. */
    take(message: Message): boolean {
      length += messageLength(message)
      if (messages.length >= limit || (messages.length > 0 && length > most)) return false
      messages.push(message)
      return true
    },
  }
}
