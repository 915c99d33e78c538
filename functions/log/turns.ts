import type { Cut } from '../domain/context.ts'
import type { AssistantMessage, Message, UserMessage } from '../domain/messages/message.ts'

/** The user and assistant messages of a run, and of the runs without an input that continue it. */
export type Turn = readonly (UserMessage | AssistantMessage)[]

/**
 * Groups a log into turns, in order. A turn begins with a user message that is the first message of its run. `cut`: the
 * truncation. An input that the truncation kept belongs to the turn of the message after the input, even if that message is of
 * another run.
 */
export function groupTurns(messages: readonly Message[], cut?: Pick<Cut, 'kept'>): Turn[] {
  const turns: (UserMessage | AssistantMessage)[][] = []
  for (const message of messages) {
    if (message.role === 'tool') continue
    const turn = turns.at(-1)
    const last = turn?.at(-1)
    const isOfRun = last?.runId === message.runId || message.role === 'assistant'
    const continues = turn !== undefined && (isOfRun || cut?.kept.includes(last?.id ?? '') === true)
    if (continues) turn.push(message)
    else turns.push([message])
  }
  return turns
}
