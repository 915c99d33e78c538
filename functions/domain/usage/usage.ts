import type { JsonObject } from '../json.ts'

/**
 * Token counts of one completion, or sums over several completions. A count is null if the provider did not report it.
 */
export interface Usage {
  readonly inputTokens: number | null
  readonly cachedInputTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly outputTokens: number | null
  readonly reasoningTokens: number | null
  readonly totalTokens: number | null
  /** The provider's own usage object, unchanged. Set for single completions only, never for sums. */
  readonly provider?: JsonObject
}

/** The token counts of a usage. Adapters store them in this order. */
export const TOKEN_COUNTS = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'totalTokens',
] as const satisfies readonly (keyof Usage)[]

export const NO_USAGE: Usage = {
  inputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null,
}

/** Whether at least one of the input, output and total tokens is known. */
export const isNamed = ({ inputTokens, outputTokens, totalTokens }: Usage): boolean =>
  inputTokens !== null || outputTokens !== null || totalTokens !== null

/** Adds two usages field by field; a field that is null on both sides stays null. */
export function addUsage(left: Usage, right: Usage): Usage {
  const add = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b)
  return {
    inputTokens: add(left.inputTokens, right.inputTokens),
    cachedInputTokens: add(left.cachedInputTokens, right.cachedInputTokens),
    cacheWriteTokens: add(left.cacheWriteTokens, right.cacheWriteTokens),
    outputTokens: add(left.outputTokens, right.outputTokens),
    reasoningTokens: add(left.reasoningTokens, right.reasoningTokens),
    totalTokens: add(left.totalTokens, right.totalTokens),
  }
}

type UsageByAgent = { readonly [agent: string]: Usage }

/** The sum over all agents. */
export const sumOf = (usages: UsageByAgent): Usage => Object.values(usages).reduce(addUsage, NO_USAGE)

/** Adds the usages of both sides, agent by agent. */
export function joinUsages(left: UsageByAgent, right: UsageByAgent): Record<string, Usage> {
  const joined = new Map(Object.entries(left))
  for (const [agent, usage] of Object.entries(right)) joined.set(agent, addUsage(joined.get(agent) ?? NO_USAGE, usage))
  return Object.fromEntries(joined)
}
