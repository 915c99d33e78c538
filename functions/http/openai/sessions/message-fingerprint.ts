import { jsonFault } from '../../../log/json/json-size.ts'
import type { ChatMessage } from '../chat/chat-schemas.ts'

/** The part of a message that every client sends back unchanged. */
export function seenOf(message: ChatMessage): unknown {
  if (message.role === 'tool') return [message.role, message.tool_call_id, partsOf(message.content)]
  if (message.role !== 'assistant') return [message.role, partsOf(message.content)]
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => [
    id,
    name,
    jsonOf(text),
  ])
  return [message.role, partsOf(message.content), calls]
}

/**
 * Arguments in a normalized form, because some clients parse them and serialize them again. Text that is not JSON is
 * returned unchanged.
 */
function jsonOf(text: string): string {
  if (jsonFault(text) !== undefined) return text
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

function partsOf(content: ChatMessage['content']): readonly unknown[] {
  if (content === null || content === undefined) return ['']
  if (typeof content === 'string') return [content]
  const texts = content.flatMap((part) => ('text' in part ? [part.text] : 'refusal' in part ? [part.refusal] : []))
  return [texts.join(''), ...content.filter(({ type }) => type !== 'text' && type !== 'refusal')]
}
