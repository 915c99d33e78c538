import type { UsageEntry } from '../../functions/client/api-types.ts'
import { compact, dollars, tokens } from '../text/words.ts'

export const MEASURES = ['tokens', 'cost'] as const
export type Measure = (typeof MEASURES)[number]

/** A segment of a bar. `name` is both its CSS class and its label in the legend. */
interface Part {
  readonly name: 'input' | 'output' | 'cost'
  readonly value: number
}

/**
 * A bar for an entry. If a value is unknown, the bar has length 0 and a mark, and its label says that the value is
 * unknown.
 */
export interface Bar {
  readonly key: string | null
  readonly parts: readonly Part[]
  readonly length: number
  readonly hasUnknown: boolean
  readonly label: string
}

export const LEGENDS: Readonly<Record<Measure, readonly Part['name'][]>> = {
  tokens: ['input', 'output'],
  cost: ['cost'],
}

export function barOf(entry: UsageEntry, measure: Measure): Bar {
  const { key, usage, cost_usd: cost, unpriced_models: unpriced = [] } = entry
  if (measure === 'cost')
    return bar(key, [{ name: 'cost', value: cost }], unpriced.length > 0 || cost === undefined, costOf([entry]))
  const { input_tokens: input, output_tokens: output } = usage
  return bar(
    key,
    [
      { name: 'input', value: input ?? undefined },
      { name: 'output', value: output ?? undefined },
    ],
    input === null || output === null,
    `${tokens(input)} in, ${tokens(output)} out`,
  )
}

function bar(
  key: string | null,
  parts: readonly { readonly name: Part['name']; readonly value: number | undefined }[],
  hasUnknown: boolean,
  label: string,
): Bar {
  const known = parts.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]))
  return { key, parts: known, length: known.reduce((sum, { value }) => sum + value, 0), hasUnknown, label }
}

/** Formats the total cost of these entries. If the price of a model is unknown, the text says so. */
export function costOf(entries: readonly UsageEntry[]): string {
  const known = entries.flatMap(({ cost_usd: cost }) => cost ?? [])
  const isWhole = entries.every(({ unpriced_models: models = [] }) => models.length === 0)
  if (known.length === 0) return entries.length === 0 || !isWhole ? 'unknown' : dollars(0)
  const sum = dollars(known.reduce((all, cost) => all + cost, 0))
  return isWhole ? sum : `${sum} and unknown`
}

/** Sums up these entries in one entry with the key `key`. */
export function together(key: string, entries: readonly UsageEntry[]): UsageEntry | undefined {
  const [first] = entries
  if (first === undefined) return undefined
  const sum = (values: readonly (number | null | undefined)[]): number | undefined =>
    values.reduce<number | undefined>(
      (all, value) => (value === null || value === undefined ? all : (all ?? 0) + value),
      undefined,
    )
  const of = (name: keyof UsageEntry['usage']): number | null => sum(entries.map(({ usage }) => usage[name])) ?? null
  const cost = sum(entries.map((entry) => entry.cost_usd))
  return {
    ...first,
    key,
    completions: entries.reduce((all, { completions }) => all + completions, 0),
    usage: {
      input_tokens: of('input_tokens'),
      cached_input_tokens: of('cached_input_tokens'),
      cache_write_tokens: of('cache_write_tokens'),
      output_tokens: of('output_tokens'),
      reasoning_tokens: of('reasoning_tokens'),
      total_tokens: of('total_tokens'),
    },
    unpriced_models: [...new Set(entries.flatMap(({ unpriced_models: models = [] }) => models))],
    ...(cost === undefined ? {} : { cost_usd: cost }),
  }
}

const LINES = 4

/** Returns the values of a chart's grid lines. They go from 0 to the next round number above the longest bar. */
export function scaleOf(bars: readonly Bar[]): readonly number[] {
  const longest = Math.max(0, ...bars.map(({ length }) => length))
  const most = longest > 0 ? longest : LINES
  const power = 10 ** Math.floor(Math.log10(most))
  const end = power * ([1, 2, 4, 8].find((factor) => factor * power >= most) ?? 10)
  return Array.from({ length: LINES + 1 }, (_, index) => (end * index) / LINES)
}

export const onScale = (value: number, measure: Measure): string =>
  measure === 'tokens' ? compact(value) : dollars(value)
