import type { Cut } from '../domain/context.ts'
import type { AssistantMessage, Message, UserMessage } from '../domain/messages/message.ts'

/** The user and assistant messages of a run, and of the runs that continue it without an input of their own. */
export type Turn = readonly (UserMessage | AssistantMessage)[]

/**
 * Groups a log into turns, in order. A turn begins with the first message of a run, if the user wrote it. `cut`: the
 * truncation. Inputs that it kept belong to the turn of the next message, whichever run of that turn the message
 * belongs to.
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
