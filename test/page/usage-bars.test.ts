import { describe, expect, test } from 'vitest'
import type { UsageEntry } from '../../functions/client/api-types.ts'
import { barOf, costOf, scaleOf, together } from '../../page/usage/bars.ts'

const entry = (
  key: string,
  input: number | null,
  output: number | null,
  rest: Partial<UsageEntry> = {},
): UsageEntry => ({
  object: 'usage',
  by: 'agent',
  key,
  completions: 1,
  usage: {
    input_tokens: input,
    cached_input_tokens: null,
    cache_write_tokens: null,
    output_tokens: output,
    reasoning_tokens: null,
    total_tokens: null,
  },
  ...rest,
})
const priced = entry('a', 900, 100, { cost_usd: 0.5 })
const partly = entry('b', 10, 5, { cost_usd: 0.25, unpriced_models: ['demo/demo'] })
const unpriced = entry('c', 4, null, { unpriced_models: ['demo/demo', 'own/model'] })

describe('a bar', () => {
  test('has the length of the known value, and marks unknown values', () => {
    expect(barOf(priced, 'tokens')).toMatchObject({ length: 1_000, hasUnknown: false, label: '900 in, 100 out' })
    expect(barOf(unpriced, 'tokens')).toMatchObject({ length: 4, hasUnknown: true, label: '4 in, unknown out' })
    expect(barOf(priced, 'cost')).toMatchObject({ length: 0.5, hasUnknown: false, label: '$0.50' })
    expect(barOf(partly, 'cost')).toMatchObject({ length: 0.25, hasUnknown: true, label: '$0.25 and unknown' })
    expect(barOf(unpriced, 'cost')).toEqual({ key: 'c', parts: [], length: 0, hasUnknown: true, label: 'unknown' })
  })

  test('of several entries sums the known values and keeps the unknown models', () => {
    expect(together('2 others', [partly, unpriced])).toMatchObject({
      key: '2 others',
      completions: 2,
      usage: { input_tokens: 14, output_tokens: 5, cached_input_tokens: null },
      cost_usd: 0.25,
      unpriced_models: ['demo/demo', 'own/model'],
    })
    expect(together('none', [])).toBeUndefined()
  })
})

test('an unknown cost is never shown as a number', () => {
  expect(['$0.50', '$0.75 and unknown', 'unknown', 'unknown']).toEqual(
    [[priced], [priced, partly], [unpriced], []].map(costOf),
  )
})

test.each([
  [[], [0, 1, 2, 3, 4]],
  [[priced], [0, 250, 500, 750, 1_000]],
  [[entry('d', 1_001, 0)], [0, 500, 1_000, 1_500, 2_000]],
])('the grid lines of a chart end at the next round number: %#', (entries, lines) => {
  expect(scaleOf(entries.map((one) => barOf(one, 'tokens')))).toEqual(lines)
})
