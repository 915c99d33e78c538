import type { Message } from '../../functions/domain/messages/message.ts'

export interface Point {
  readonly log: readonly Message[]
  readonly currentRun: string
}

/**
 * Every state of a log from which a request was built: after an input, after the last result of a round, and after a
 * failure that another run continues from.
 */
export function requestPoints(log: readonly Message[]): Point[] {
  return log.flatMap((message, index): Point[] => {
    const next = log[index + 1]
    const settled = message.role === 'user' || (message.role === 'tool' && next?.role !== 'tool')
    const continued = message.role === 'assistant' && next?.role === 'assistant' && next.runId !== message.runId
    if (!settled && !continued) return []
    return [{ log: log.slice(0, index + 1), currentRun: continued ? next.runId : message.runId }]
  })
}

/** A user message with text only, whose form in requests never changes. */
export function withoutMedia(message: Message): Message {
  if (message.role !== 'user') return message
  return { ...message, parts: message.parts.filter((part) => part.type === 'text') }
}
