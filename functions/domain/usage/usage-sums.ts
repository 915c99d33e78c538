import { TooltrailError } from '../errors.ts'
import { addUsage } from './usage.ts'
import { dayOf } from './usage-count.ts'
import type { Usage } from './usage.ts'

/** The completions of one model in one group. */
export interface UsageSum {
  /** The group's key; undefined for sessions without an owner. */
  readonly group: string | undefined
  readonly model: string
  readonly completions: number
  readonly usage: Usage
}

/** Creates an accumulator of sums. It keeps one sum for each group and model. */
export function addSums(): { add(sum: UsageSum): void; all(): readonly UsageSum[] } {
  const sums = new Map<string, UsageSum>()
  return {
    add(sum) {
      const name = JSON.stringify([sum.group ?? null, sum.model])
      const before = sums.get(name)
      sums.set(
        name,
        before === undefined
          ? sum
          : {
              ...before,
              completions: before.completions + sum.completions,
              usage: addUsage(before.usage, sum.usage),
            },
      )
    },
    all: () => [...sums.values()],
  }
}

const DAY_MS = 86_400_000

/** Each day from the first to the last, both inclusive (UTC, such as `2026-11-22`). */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = []
  for (let day = Date.parse(from); day <= Date.parse(to); day += DAY_MS) days.push(dayOf(day))
  return days
}

/** The error for a query that would read too many rows. */
export const tooManyRows = (most: number): TooltrailError =>
  new TooltrailError(
    'invalid_query',
    `these days have more than ${most} sessions with usage: ask for fewer days, or by day, agent or model`,
  )
