import { expect, test } from 'vitest'
import { costOf } from '../../../functions/domain/usage/model-prices.ts'
import { NO_USAGE } from '../../../functions/domain/usage/usage.ts'

const MILLION = 1_000_000
const usage = { ...NO_USAGE, inputTokens: MILLION, outputTokens: MILLION }

test('a model has one price under its plain name and under the dated name that providers report', () => {
  expect(costOf('openai/gpt-5.4', usage)).toBe(17.5)
  expect(costOf('openai/gpt-5.4-2026-03-05', usage)).toBe(17.5)
  expect(costOf('openai/gpt-5.4-mini-2026-03-05', usage)).toBe(5.25)
  expect(costOf('anthropic/claude-haiku-4-5', usage)).toBe(6)
  expect(costOf('anthropic/claude-haiku-4-5-20251001', usage)).toBe(6)
})

test.each([
  'openai/gpt-5.4-large',
  'openai/gpt-5.4-2026',
  'openai/gpt-5.4-turbo-2026-03-05',
  'other/gpt-5.4',
  'toString',
])('the price of %s is unknown', (model) => expect(costOf(model, usage)).toBeUndefined())

test('cache reads and cache writes have their own prices', () => {
  const cached = { ...usage, cachedInputTokens: MILLION / 2, cacheWriteTokens: MILLION / 4, outputTokens: 0 }
  expect(costOf('anthropic/claude-haiku-4-5', cached)).toBeCloseTo(0.25 + 0.05 + 0.3125)
})
