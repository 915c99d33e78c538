import { isLeaders, type AssistantMessage } from '../../../../domain/messages/message.ts'
import { NO_USAGE, TOKEN_COUNTS, type Usage } from '../../../../domain/usage/usage.ts'
import { numberAt, type Item } from '../../attributes.ts'

/**
 * Token counts by agent are separate attributes, so that they can be increased without a read. An agent's name is
 * encoded as JSON, because it may contain any character.
 */
const FIELDS = TOKEN_COUNTS
/**
 * Counter of an agent's completions. It shows that the agent had completions, even if its provider reports no tokens.
 */
const COMPLETIONS = 'u:'
const COUNTER = /^u([0-5]?):(".*")$/su

/** Returns the counts that one completion adds to an agent. */
export function counted(agent: string, usage: Usage = NO_USAGE): Record<string, number> {
  const quoted = JSON.stringify(agent)
  const tokens = FIELDS.flatMap((field, place): [string, number][] => {
    const count = usage[field]
    return count === null ? [] : [[`u${place}:${quoted}`, count]]
  })
  return { [`${COMPLETIONS}${quoted}`]: 1, ...Object.fromEntries(tokens) }
}

/** Returns the counts that one completion adds to its run. Only a leader's completion counts as a round. */
export const countedInRun = (message: AssistantMessage): Record<string, number> => ({
  rounds: isLeaders(message) ? 1 : 0,
  ...counted(message.agent, message.usage),
})

/** Returns the names of an item's counters. */
export const counterNames = (item: Item): string[] => Object.keys(item).filter((name) => COUNTER.test(name))

/** Returns the sums of an item's counters. */
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
