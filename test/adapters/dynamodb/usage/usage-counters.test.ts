import { fc } from '../../../generators/seeded.ts'
import { expect, test } from 'vitest'
import { toItem } from '../../../../functions/adapters/dynamodb/attributes.ts'
import { counted, counterNames, usageOf } from '../../../../functions/adapters/dynamodb/log/usage/usage-counters.ts'
import { addUsage, joinUsages, NO_USAGE, sumOf, type Usage } from '../../../../functions/domain/usage/usage.ts'

const tokens = fc.option(fc.nat(), { nil: null })
const usage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  reasoningTokens: tokens,
  totalTokens: tokens,
})
/** Names that a configuration may contain, and names with a special meaning in attribute names. */
const agent = fc.oneof(fc.constantFrom('a', '', 'u0:"a"', '\u0000', '\ud83d', '"', 'ä', '__proto__'), fc.string())
const completions = fc.array(fc.tuple(agent, usage), { maxLength: 12 })

/** Returns the counters after DynamoDB has executed an ADD for each completion. */
function added(all: readonly (readonly [string, Usage])[]): Record<string, number> {
  const sums: Record<string, number> = { rounds: 3, queued: 1 }
  for (const [name, tokensOf] of all)
    for (const [counter, count] of Object.entries(counted(name, tokensOf))) sums[counter] = (sums[counter] ?? 0) + count
  return sums
}

test('counters contain the sum of each agent’s completions, including agents with unknown token counts', () => {
  fc.assert(
    fc.property(completions, (all) => {
      const expected = new Map<string, Usage>()
      for (const [name, tokensOf] of all) expected.set(name, addUsage(expected.get(name) ?? NO_USAGE, tokensOf))
      const read = usageOf(toItem(added(all)))
      expect(new Map(Object.entries(read))).toEqual(expected)
      expect(sumOf(read)).toEqual(all.reduce((sum, [, tokensOf]) => addUsage(sum, tokensOf), NO_USAGE))
    }),
  )
})

test('other attributes are not read as counters', () => {
  expect(counterNames(toItem({ 'u:"a"': 1, 'u5:"a"': 2, 'u6:"a"': 3, u0: 4, queued: 5, until: 6 }))).toEqual([
    'u:"a"',
    'u5:"a"',
  ])
})

test('joining two sums adds the counts of each agent', () => {
  fc.assert(
    fc.property(completions, completions, (left, right) => {
      const joined = joinUsages(usageOf(toItem(added(left))), usageOf(toItem(added(right))))
      expect(joined).toEqual(usageOf(toItem(added([...left, ...right]))))
    }),
  )
})
