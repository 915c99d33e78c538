import type { Cut } from '../domain/context.ts'
import type { AssistantMessage, Message, UserMessage } from '../domain/messages/message.ts'

/** The user and assistant messages of a run, with those of the runs that continue it without an input of their own. */
export type Turn = readonly (UserMessage | AssistantMessage)[]

/**
 * A log's turns in order. A turn begins with the first message of a run when the user wrote it. `cut`: what is no longer among the
 * messages; inputs that it kept are of the turn of the message after them, whichever run of that turn it belongs to.
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
