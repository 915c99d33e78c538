import { mediaNote } from '../../../functions/agent/media.ts'
import { STATUS_TEXT } from '../../../functions/domain/messages/message.ts'
import { fitContent } from '../../../functions/log/fit-content.ts'
import type { OpenAiMessage, OpenAiPart } from '../../../functions/log/formats/openai-format.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Conversation, RecordedMessage } from './recorded.ts'
import { callsOf, listOf, plainText, resultsOf } from './recorded.ts'

/** Positions of a conversation's parts in the log. */
export interface Placed {
  /** Returns the id of the tool message for a call of recorded message `index`. */
  rowOf(index: number, callId: string): string | undefined
}

export interface Expectation extends Placed {
  /** Index of the first recorded message that the log does not have yet. */
  readonly end: number
  /** Outcome of calls without a result when an input follows: the API closes them, an import omits them. */
  readonly unanswered: 'cancelled' | 'left out'
}

/** The Chat Completions messages expected for a recorded conversation: the record itself, with the exceptions below. */
export function expectedMessages(conversation: Conversation, expectation: Expectation): OpenAiMessage[] {
  const { messages } = conversation
  const known = messages.slice(0, expectation.end)
  const current = known.findLastIndex((message) => message.role === 'user')
  return known.flatMap((message, index): OpenAiMessage[] => {
    if (message.role === 'system') return [systemMessage(message, index)]
    if (message.role === 'user') return [{ role: 'user', content: userContent(message, index === current) }]
    if (message.role === 'tool') return []
    return round(conversation, index, expectation, index > current)
  })
}

/**
 * The message as the log has it. The only system messages are the session's instructions; a late system message is stored as
 * a user message.
 */
function systemMessage(message: RecordedMessage, index: number): OpenAiMessage {
  return { role: index === 0 ? 'system' : 'user', content: plainText(message) ?? '' }
}

function userContent(message: RecordedMessage, isCurrent: boolean): string | OpenAiPart[] {
  if (listOf(message).length === 0) return plainText(message) ?? ''
  const parts = partsOf(message)
  const images = parts.filter((part) => part.type === 'image_url')
  if (isCurrent || images.length === 0) return parts.length === 1 && parts[0]?.type === 'text' ? parts[0].text : parts
  const note = mediaNote(images.map((part) => ({ type: 'image', id: '', mediaType: dataOf(part).mediaType, bytes: 0 })))
  return [...parts.filter((part) => part.type === 'text'), { type: 'text', text: note }]
}

/**
 * A completion, directly followed by one result per call in the order of the calls (promises R1). An empty completion is omitted
 * (promises L5).
 */
function round(
  conversation: Conversation,
  index: number,
  expectation: Expectation,
  isCurrent: boolean,
): OpenAiMessage[] {
  const message = conversation.messages[index]
  if (message === undefined) return []
  const text = plainText(message) ?? ''
  const calls = callsOf(message)
  const results = resultsOf(conversation, index)
  const withResults = calls.filter((call) => (results.get(call.id) ?? expectation.end) < expectation.end)
  const continues = conversation.messages
    .slice(0, expectation.end)
    .some((later, at) => at > index && later.role === 'user')
  const isClosed = continues && expectation.unanswered === 'cancelled'
  if (calls.length === 0 || (withResults.length === 0 && !isClosed))
    return text === '' ? [] : [{ role: 'assistant', content: text }]
  const tool_calls = calls.map(({ id, function: { name, arguments: text } }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: text },
  }))
  return [
    { role: 'assistant', content: text === '' ? null : text, tool_calls },
    ...calls.map(({ id }): OpenAiMessage => {
      const result = withResults.some((call) => call.id === id)
        ? conversation.messages[results.get(id) ?? -1]
        : undefined
      const content =
        result === undefined
          ? isClosed
            ? STATUS_TEXT.cancelled
            : STATUS_TEXT.interrupted
          : toolContent(result, expectation.rowOf(index, id) ?? '', isCurrent)
      return { role: 'tool', tool_call_id: id, content }
    }),
  ]
}

/**
 * The expected content of a tool message. It contains notes instead of images, which Chat Completions lacks in tool results.
 * A result above 50 KB is a preview with a pointer (promises O1).
 */
function toolContent(message: RecordedMessage, row: string, isCurrent: boolean): string {
  const texts = partsOf(message)
  const text = plainText(message) ?? texts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const [fitted] = fitContent({ messageId: row, attempt: '' }, { text }, DEFAULT_POLICIES).parts
  const shown = fitted?.type === 'text' ? fitted.text : ''
  const images = texts.flatMap((part) => (part.type === 'image_url' ? [dataOf(part).mediaType] : []))
  const gone = isCurrent ? 'cannot be shown here' : 'is no longer available to view'
  return [...(shown === '' ? [] : [shown]), ...images.map((type) => `[image (${type}) ${gone}]`)].join('\n')
}

/** The recorded parts, in the key order of our format. */
export function partsOf(message: RecordedMessage): OpenAiPart[] {
  return listOf(message).map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image_url', image_url: { url: part.image_url.url } },
  )
}

/** Contents of a data URL. */
export function dataOf(part: OpenAiPart): { mediaType: string; base64: string } {
  const url = part.type === 'image_url' ? part.image_url.url : ''
  const [, mediaType = '', base64 = ''] = /^data:([^;,]+);base64,(.*)$/su.exec(url) ?? []
  return { mediaType, base64 }
}
