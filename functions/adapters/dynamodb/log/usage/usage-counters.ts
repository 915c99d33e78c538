import { isLeaders, type AssistantMessage } from '../../../../domain/messages/message.ts'
import { NO_USAGE, type Usage } from '../../../../domain/usage/usage.ts'
import { numberAt, type Item } from '../../attributes.ts'

/**
 * Token counts by agent as attributes of their own, so that they can be added to without being read. An agent's name is JSON
 * text, because it may hold any character.
 */
const FIELDS = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'totalTokens',
] as const satisfies readonly (keyof Usage)[]
/** Counts the completions of an agent, so that it is known even if its provider reports no tokens. */
const COMPLETIONS = 'u:'
const COUNTER = /^u([0-5]?):(".*")$/su

/** What one completion adds to an agent's tokens. */
export function counted(agent: string, usage: Usage = NO_USAGE): Record<string, number> {
  const quoted = JSON.stringify(agent)
  const tokens = FIELDS.flatMap((field, place): [string, number][] => {
    const count = usage[field]
    return count === null ? [] : [[`u${place}:${quoted}`, count]]
  })
  return { [`${COMPLETIONS}${quoted}`]: 1, ...Object.fromEntries(tokens) }
}

/** What one completion adds to its run; a leader's is a round. */
export const countedInRun = (message: AssistantMessage): Record<string, number> => ({
  rounds: isLeaders(message) ? 1 : 0,
  ...counted(message.agent, message.usage),
})

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
