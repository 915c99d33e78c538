import type { Message } from '../messages/message.ts'
import type { Usage } from './usage.ts'

/** Whose tokens a completion counts as, beside its session's and its agent's. */
export interface UsageAccount {
  /** The session's owner. */
  readonly owner?: string
  /** The API key that handed the run in. */
  readonly keyId?: string
}

/** A completion as usage counts it. */
export interface CountedCompletion {
  /** In UTC, as `2026-11-22`. */
  readonly day: string
  readonly agent: string
  /** `provider/model`. */
  readonly model: string
  readonly usage: Usage
}

/** The day (UTC, as `2026-11-22`) of a time in milliseconds since 1970. */
export const dayOf = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10)

/** What a message counts as: completions of a model that came to their end; undefined for all others. */
export function countedCompletion(message: Message | undefined): CountedCompletion | undefined {
  if (message?.role !== 'assistant' || message.usage === undefined || message.model === undefined) return undefined
  const { createdAt, agent, model, usage } = message
  return { day: dayOf(createdAt), agent, model, usage }
}

/**
 * All tokens of a usage; where the provider does not say how many, those that it names. A sum's total lacks the completions
 * that had none.
 */
export const totalTokens = ({ totalTokens: total, inputTokens, outputTokens }: Usage): number =>
  Math.max(total ?? 0, (inputTokens ?? 0) + (outputTokens ?? 0))
