/** The providers' names, which are the first part of a model's full name. */
const PROVIDER_NAMES = ['anthropic', 'openai', 'bedrock', 'openai-compatible', 'demo'] as const

/** Completes a model's name from an agent's settings to `provider/model`. */
export function fullModelName(name: string): string {
  const slash = name.indexOf('/')
  const provider = name.slice(0, Math.max(0, slash))
  if (provider === 'amazon-bedrock') return `bedrock${name.slice(slash)}`
  return PROVIDER_NAMES.some((known) => known === provider) ? name : `openai-compatible/${name}`
}

/** The date at the end of a model's full name: `-20250929` or `-2025-09-29`. */
const DATE = /-20\d{2}-?\d{2}-?\d{2}$/

/**
 * Whether two names (`provider/model`) mean the same model. A name without a date is an alias of the name with a date,
 * and providers use the name with the date in responses.
 */
export function isSameModel(one: string, other: string): boolean {
  if (one === other) return true
  const [undated, dated] = DATE.test(one) ? [other, one] : [one, other]
  return !DATE.test(undated) && dated.replace(DATE, '') === undated
}
