import type { JsonObject } from '../../../domain/json.ts'
import type { Usage } from '../../../domain/usage.ts'

/** Long field name → the short one it has in a row. Short names have one letter, long ones more, so they never meet. */
export type FieldNames = Readonly<Record<string, string>>

type Fields = Readonly<Record<string, unknown>>

/** The same fields under their short names; those that are undefined are left out. */
export function shortened(fields: Fields, names: FieldNames): Record<string, unknown> {
  return renamed(fields, names)
}

/** The opposite of `shortened`. */
export function lengthened(fields: Fields, names: FieldNames): Record<string, unknown> {
  return renamed(fields, longNames(names))
}

function renamed(fields: Fields, names: FieldNames): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) {
    const value = fields[name]
    if (value !== undefined) result[names[name] ?? name] = value
  }
  return result
}

/** Every row that is read needs them: made once. */
const reversed = new WeakMap<FieldNames, FieldNames>()

function longNames(names: FieldNames): FieldNames {
  const known = reversed.get(names)
  if (known !== undefined) return known
  const made = Object.fromEntries(Object.entries(names).map(([long, short]) => [short, long]))
  reversed.set(names, made)
  return made
}

type Tokens = number | null
/** Input, cached input, cache write, output, reasoning, total; then the provider's own object, where there is one. */
export type CompactUsage = readonly [Tokens, Tokens, Tokens, Tokens, Tokens, Tokens, JsonObject?]

/** A usage as a list: its names would take more room than its numbers. */
export function compactUsage(usage: Usage): CompactUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, totalTokens } = usage
  const tokens = [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, totalTokens] as const
  return usage.provider === undefined ? tokens : [...tokens, usage.provider]
}

/** The opposite of `compactUsage`. */
export function wholeUsage(compact: CompactUsage): Usage {
  const [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, totalTokens, provider] =
    compact
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, totalTokens }
  return provider === undefined ? usage : { ...usage, provider }
}

/** Usages by agent as lists. */
export function compactUsages(usages: Readonly<Record<string, Usage>>): Record<string, CompactUsage> {
  return Object.fromEntries(Object.entries(usages).map(([agent, usage]) => [agent, compactUsage(usage)]))
}

/** The opposite of `compactUsages`. */
export function wholeUsages(compact: Readonly<Record<string, CompactUsage>>): Record<string, Usage> {
  return Object.fromEntries(Object.entries(compact).map(([agent, usage]) => [agent, wholeUsage(usage)]))
}
