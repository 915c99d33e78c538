import type { SessionContext } from '../../domain/context.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import type { RequestMessage } from '../../domain/model-request.ts'

/** The note that replaces the oldest messages, which no longer fit the request. */
export const CUT_NOTE =
  '<system_note>Earlier messages of this conversation are left out here: they no longer fit.</system_note>'

export type Decisions = Pick<SessionContext, 'summary' | 'cut'>

/** Returns those of the leader's messages that the decisions keep in the request. The log itself never changes. */
export function withinContext(messages: readonly Message[], { summary, cut }: Decisions): Message[] {
  return messages.filter((message) => {
    if (!isLeaders(message)) return false
    if (summary !== undefined && message.id <= summary.through) return false
    return cut === undefined || message.id >= cut.from || cut.kept.includes(message.id)
  })
}

/** Returns the messages that precede those of the log in a request: the summary, then the note on omitted messages. */
export function openingOf({ summary, cut }: Decisions): RequestMessage[] {
  const opening: RequestMessage[] = []
  if (summary !== undefined) opening.push(userText(summaryText(summary.text)))
  if (cut !== undefined) opening.push(userText(CUT_NOTE))
  return opening
}

/** Wraps a summary for a model. */
export const summaryText = (text: string): string => `<conversation_summary>\n${text}\n</conversation_summary>`

const userText = (text: string): RequestMessage => ({ role: 'user', parts: [{ type: 'text', text }] })

/**
 * Whether a message counts as conversation: an input to the leader, or a completion of the leader without calls. Failed
 * messages and messages without content do not count.
 */
export function isConversational(message: Message): boolean {
  if (message.role === 'tool' || !isLeaders(message)) return false
  if (message.role === 'assistant' && message.toolCalls.length > 0) return false
  const parts: Message['parts'] = message.parts
  if (parts.some((part) => part.type === 'error')) return false
  return parts.some(
    (part) => part.type === 'image' || part.type === 'file' || (part.type === 'text' && part.text.trim() !== ''),
  )
}

/** Returns where the context begins; earlier messages need not be loaded. */
export function contextBegins({ summary, cut }: Decisions): { readonly after?: string; readonly from?: string } {
  if (cut !== undefined && (summary === undefined || cut.from > summary.through)) return { from: cut.from }
  return summary === undefined ? {} : { after: summary.through }
}
