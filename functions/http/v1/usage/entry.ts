import type { z } from '@hono/zod-openapi'
import { definedFields } from '../../../domain/defined-fields.ts'
import { costOf } from '../../../domain/usage/model-prices.ts'
import { addUsage, NO_USAGE } from '../../../domain/usage/usage.ts'
import type { UsageSum } from '../../../domain/usage/usage-sums.ts'
import type { UsageGroup } from '../../../ports/usage-ledger.ts'
import type { UsageEntrySchema } from './schema.ts'
import { usageResource } from './resource.ts'

type Entry = z.input<typeof UsageEntrySchema>

/** Amounts are rounded to millionths of a dollar. Anything smaller is a rounding error of the sums. */
const MILLION = 1_000_000

/** Returns one entry per group, sorted by key; the entry without an owner comes first. */
export function usageEntries(by: UsageGroup, sums: readonly UsageSum[]): Entry[] {
  const groups = Map.groupBy(sums, ({ group }) => group ?? null)
  return [...groups]
    .map(([key, ofGroup]) => usageEntry(by, key, ofGroup))
    .toSorted((left, right) => compare(left.key, right.key))
}

function compare(left: string | null, right: string | null): number {
  if (left === right) return 0
  return left === null || (right !== null && left < right) ? -1 : 1
}

function usageEntry(by: UsageGroup, key: string | null, sums: readonly UsageSum[]): Entry {
  const { provider: _, ...usage } = usageResource(sums.map((sum) => sum.usage).reduce(addUsage, NO_USAGE))
  const costs = sums.map(({ model, usage: used }) => ({ model, dollars: costOf(model, used) }))
  const known = costs.flatMap(({ dollars }) => dollars ?? [])
  const unpriced = costs.filter(({ dollars }) => dollars === undefined).map(({ model }) => model)
  return {
    object: 'usage',
    by,
    key,
    completions: sums.reduce((sum, { completions }) => sum + completions, 0),
    usage,
    ...definedFields({
      cost_usd: known.length === 0 ? undefined : inMillionths(known.reduce((sum, dollars) => sum + dollars, 0)),
      unpriced_models: unpriced.length === 0 ? undefined : unpriced.toSorted(),
    }),
  }
}

const inMillionths = (dollars: number): number => Math.round(dollars * MILLION) / MILLION
