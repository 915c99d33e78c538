import type { RequestMessage } from '../../domain/model-request.ts'

type Part = RequestMessage['parts'][number]

/**
 * Replaces every half of a surrogate pair in the messages by a replacement character. The log keeps the halves, but
 * providers reject them. One such text would make every later run of its session fail.
 */
export function wellFormedMessages(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  return messages.map((message) => {
    if (!message.parts.some(isBroken)) return message
    // Only strings in parts change.
    return { ...message, parts: message.parts.map(mend) } as RequestMessage
  })
}

const isBroken = (part: Part): boolean =>
  ('text' in part && !part.text.isWellFormed()) ||
  (part.type === 'tool_call' && !(part.arguments.isWellFormed() && part.name.isWellFormed()))

function mend(part: Part): Part {
  if (part.type === 'tool_call')
    return { ...part, name: part.name.toWellFormed(), arguments: part.arguments.toWellFormed() }
  return 'text' in part ? { ...part, text: part.text.toWellFormed() } : part
}
