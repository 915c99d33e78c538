import type { AssistantPart } from '../../../domain/messages/message.ts'

/** A request without a completion; `streamed` holds the text and reasoning that arrived before the failure. */
export class CompletionFailed extends Error {
  readonly streamed: readonly AssistantPart[]
  constructor(cause: unknown, streamed: readonly AssistantPart[]) {
    super('the model gave no completion', { cause })
    this.name = 'CompletionFailed'
    this.streamed = streamed
  }
}

/** Keeps the text and reasoning parts that are not empty. */
export const keptParts = (streamed: readonly AssistantPart[]): AssistantPart[] =>
  streamed.filter((part) => (part.type === 'text' || part.type === 'reasoning') && part.text !== '')
