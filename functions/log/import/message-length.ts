import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import type { AssistantPart } from '../../domain/messages/message.ts'
import type { Source } from '../../domain/messages/source.ts'

/**
 * Number of characters that each numbered result adds: to the completion with its numbers, and to the row of these
 * numbers.
 */
const NUMBERS_OF_RESULT = 150

/** Returns the length, in characters and bytes, of the contents that come from the message's source. */
export function lengthOf(message: ClosedMessage): number {
  const { parentToolCallId = '' } = message
  const length = parentToolCallId.length + sum(message.parts, partLength)
  switch (message.role) {
    case 'user':
      return length + jsonLength(message.metadata)
    case 'assistant': {
      const { toolCalls, usage, numbered, feedback } = message
      const numbers = (numbered?.results.length ?? 0) * NUMBERS_OF_RESULT
      return length + sum(toolCalls, callLength) + jsonLength(usage?.provider) + numbers + jsonLength(feedback)
    }
    case 'tool':
      return length + jsonLength(message.data) + sum(message.sources ?? [], sourceLength)
  }
}

const sum = <One>(list: readonly One[], length: (one: One) => number): number =>
  list.reduce((total, one) => total + length(one), 0)

const callLength = (call: { id: string; name: string; arguments: string; provider?: object }): number =>
  call.id.length + call.name.length + call.arguments.length + jsonLength(call.provider)

const sourceLength = ({ title, url = '', text = '', id = '' }: Source): number =>
  title.length + url.length + text.length + id.length

function partLength(part: ClosedMessage['parts'][number] | AssistantPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text.length + jsonLength(part.provider)
    case 'error':
      return part.text.length
    case 'tool_call':
      return part.id.length
    case 'image':
    case 'file':
      return part.data.length
  }
}

const jsonLength = (value: unknown): number => (value === undefined ? 0 : JSON.stringify(value).length)
