import type { AssistantMessage, Message, UserMessage } from '../domain/message.ts'

/** The user and assistant messages of a run, with those of the runs that continue it without an input of their own. */
export type Turn = readonly (UserMessage | AssistantMessage)[]

/** A log's turns in order. A turn begins with the first message of a run when the user wrote it. */
export function groupTurns(messages: readonly Message[]): Turn[] {
  const turns: (UserMessage | AssistantMessage)[][] = []
  for (const message of messages) {
    if (message.role === 'tool') continue
    const turn = turns.at(-1)
    const continues = turn !== undefined && (turn.at(-1)?.runId === message.runId || message.role === 'assistant')
    if (continues) turn.push(message)
    else turns.push([message])
  }
  return turns
}
