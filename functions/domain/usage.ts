import type { JsonObject } from './json.ts'

/** Tokens of one completion, or summed over several; null where the provider did not say. */
export interface Usage {
  readonly inputTokens: number | null
  readonly cachedInputTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly outputTokens: number | null
  readonly reasoningTokens: number | null
  readonly totalTokens: number | null
  /** The provider's own usage object, untouched. Only for single completions, never on sums. */
  readonly provider?: JsonObject
}

export const NO_USAGE: Usage = {
  inputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null,
}

/** The sum, field by field; a field that neither side knows stays null. */
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
