import type { RequestMessage } from '../../domain/model-request.ts'

type Part = RequestMessage['parts'][number]

/**
 * The messages with a replacement character for every half of a surrogate pair. The log keeps these halves, but providers
 * refuse them: one such text would make every later run of its session fail.
 */
export function wellFormedMessages(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  return messages.map((message) => {
    if (!message.parts.some(isBroken)) return message
    // Only the strings of parts change.
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
