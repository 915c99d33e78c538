import type { Usage } from './usage.ts'

/** US dollars per million tokens. */
interface Price {
  readonly input: number
  /**
   * `cachedInput`: the price of input that is read from the provider's cache. `cacheWrite`: the price of input that is
   * written to it (for five minutes).
   */
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
}

/**
 * The month of each provider's price list. Anthropic: platform.claude.com/docs, "Models & pricing" of each model.
 * OpenAI: the list of openai.com/api/pricing. OpenAI charges the normal input price for writing to its cache.
 */
export const PRICE_LISTS = { anthropic: '2026-11', openai: '2026-06' } as const

/**
 * List prices of single requests by `provider/model`, without discounts for batches or surcharges for regions. A model
 * that is not in the list has no price, and its usage has no cost. Two kinds of models are missing on purpose. The
 * price of some models depends on the length of each prompt, and sums do not contain this length. Other models are sold
 * by third parties (Bedrock, self-hosted servers).
 */
const PRICES: Readonly<Record<string, Price>> = {
  'anthropic/claude-fable-5-1': { input: 10, cachedInput: 0.25, cacheWrite: 12.5, output: 50 },
  'anthropic/claude-opus-5-5': { input: 4, cachedInput: 0.2, cacheWrite: 5, output: 20 },
  'anthropic/claude-opus-5': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
  'anthropic/claude-opus-4-5': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
  'anthropic/claude-sonnet-5-5': { input: 2, cachedInput: 0.1, cacheWrite: 2.5, output: 10 },
  'anthropic/claude-sonnet-5': { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10 },
  'anthropic/claude-haiku-4-5': { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 },
  'openai/gpt-5.5': { input: 5, cachedInput: 0.5, cacheWrite: 5, output: 30 },
  'openai/gpt-5.4': { input: 2.5, cachedInput: 0.25, cacheWrite: 2.5, output: 15 },
  'openai/gpt-5.4-mini': { input: 0.75, cachedInput: 0.075, cacheWrite: 0.75, output: 4.5 },
  'openai/gpt-5.4-nano': { input: 0.2, cachedInput: 0.02, cacheWrite: 0.2, output: 1.25 },
}

const MILLION = 1_000_000
/** Providers append a date to a model's name, as in `gpt-5.4-2026-03-05` or `claude-haiku-4-5-20251001`. */
const DATE = /-\d{4}-?\d{2}-?\d{2}$/

function priceOf(model: string): Price | undefined {
  const name = Object.hasOwn(PRICES, model) ? model : model.replace(DATE, '')
  return Object.hasOwn(PRICES, name) ? PRICES[name] : undefined
}

/**
 * The cost of a model's tokens at list prices, in US dollars; the model's name may have a date. Undefined if no price
 * is known, or the provider did not report the input or output tokens. `inputTokens` includes those of the cache.
 */
export function costOf(model: string, usage: Usage): number | undefined {
  const price = priceOf(model)
  const { inputTokens, outputTokens } = usage
  if (price === undefined || inputTokens === null || outputTokens === null) return undefined
  const [cached, written] = [usage.cachedInputTokens ?? 0, usage.cacheWriteTokens ?? 0]
  const plain = Math.max(0, inputTokens - cached - written)
  const sum =
    plain * price.input + cached * price.cachedInput + written * price.cacheWrite + outputTokens * price.output
  return sum / MILLION
}
