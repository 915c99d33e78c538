import { addUsage, NO_USAGE, type Usage } from '../../../domain/usage.ts'
import { numberAt, type Item } from '../attributes.ts'

/**
 * Token counts by agent as attributes of their own, so that they can be added to without being read. An agent's name is JSON
 * text, for it may hold any character.
 */
const FIELDS = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'totalTokens',
] as const satisfies readonly (keyof Usage)[]
/** Counts the answers of an agent, so that it is known even where its provider tells no tokens. */
const ANSWERS = 'u:'
const COUNTER = /^u([0-5]?):(".*")$/su

type UsageByAgent = Readonly<Record<string, Usage>>

/** What one answer adds. */
export function counted(agent: string, usage: Usage = NO_USAGE): Record<string, number> {
  const quoted = JSON.stringify(agent)
  const tokens = FIELDS.flatMap((field, place): [string, number][] => {
    const count = usage[field]
    return count === null ? [] : [[`u${place}:${quoted}`, count]]
  })
  return { [`${ANSWERS}${quoted}`]: 1, ...Object.fromEntries(tokens) }
}

/** The names of an item's counters. */
export const counterNames = (item: Item): string[] => Object.keys(item).filter((name) => COUNTER.test(name))

/** The sums that an item's counters hold. */
export function usageOf(item: Item): Record<string, Usage> {
  const byAgent = new Map<string, Usage>()
  for (const name of counterNames(item)) {
    const [, place = '', quoted = ''] = COUNTER.exec(name) ?? []
    const agent = JSON.parse(quoted) as string
    const before = byAgent.get(agent) ?? NO_USAGE
    const field = place === '' ? undefined : FIELDS[Number(place)]
    byAgent.set(agent, field === undefined ? before : { ...before, [field]: numberAt(item, name) ?? null })
  }
  return Object.fromEntries(byAgent)
}

/** The sum over all agents. */
export const sumOf = (usages: UsageByAgent): Usage => Object.values(usages).reduce(addUsage, NO_USAGE)

/** The sums of both, agent by agent. */
export function joinUsages(left: UsageByAgent, right: UsageByAgent): Record<string, Usage> {
  const joined = new Map(Object.entries(left))
  for (const [agent, usage] of Object.entries(right)) joined.set(agent, addUsage(joined.get(agent) ?? NO_USAGE, usage))
  return Object.fromEntries(joined)
}
