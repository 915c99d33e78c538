import type { Message } from '../messages/message.ts'
import type { Usage } from './usage.ts'

/** The owner and key that a completion is counted for, in addition to its session and agent. */
export interface UsageAccount {
  /** The session's owner. */
  readonly owner?: string
  /** The API key with which the run was submitted. */
  readonly keyId?: string
}

/** A completion with the fields by which usage is counted. */
export interface CountedCompletion {
  /** The day in UTC, such as `2026-11-22`. */
  readonly day: string
  readonly agent: string
  /** The model's name: `provider/model`. */
  readonly model: string
  readonly usage: Usage
}

/** The day (UTC, as `2026-11-22`) of a time in milliseconds since 1970. */
export const dayOf = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10)

/** The counted completion of a message; undefined unless it is a finished completion of a model. */
export function countedCompletion(message: Message | undefined): CountedCompletion | undefined {
  if (message?.role !== 'assistant' || message.usage === undefined || message.model === undefined) return undefined
  const { createdAt, agent, model, usage } = message
  return { day: dayOf(createdAt), agent, model, usage }
}

/**
 * Returns all tokens of a usage: `totalTokens`, or the input plus output tokens if these are more. In a sum,
 * `totalTokens` lacks the completions whose provider reported no total.
 */
export const totalTokens = ({ totalTokens: total, inputTokens, outputTokens }: Usage): number =>
  Math.max(total ?? 0, (inputTokens ?? 0) + (outputTokens ?? 0))
