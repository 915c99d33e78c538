import { expect, test } from 'vitest'
import { attemptNumber } from '../../../functions/domain/runs/attempt.ts'
import type { AttemptState } from '../../../functions/domain/runs/attempt.ts'
import { NO_USAGE } from '../../../functions/domain/usage/usage.ts'

const stored = (generation: number) => ({ position: { generation, number: 0 } })
const paused = (generation: number) => {
  const counts = { rounds: 1, usage: NO_USAGE, usageByAgent: {} }
  return { type: 'run.paused', after: '', asked: '', calls: [], counts, generation } as const
}
const numberOf = (state: Partial<AttemptState>): number =>
  attemptNumber({ run: { startGeneration: 3 }, completions: [], generation: 3, discarded: 0, ...state })

test('the first attempt at each completion has the number 0', () => {
  expect(numberOf({})).toBe(0)
  expect(numberOf({ completions: [stored(3), stored(5)], generation: 5 })).toBe(0)
})

test('the first attempt after a pause has the number 0', () => {
  const run = { startGeneration: 3, notices: [paused(3)] }
  expect(numberOf({ run, completions: [stored(3)], generation: 5 })).toBe(0)
  expect(numberOf({ run, completions: [stored(3)], generation: 6 })).toBeGreaterThan(0)
})

test('a later attempt has a greater number, whether by the same holder or a later holder', () => {
  const numbers = [3, 4, 6].flatMap((generation) =>
    [0, 1, 50].map((discarded) => numberOf({ completions: [stored(3)], generation, discarded })),
  )
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
  expect(new Set(numbers).size).toBe(numbers.length)
})

test('in a run that an earlier version started, each holder numbers its attempts from 0', () => {
  expect([0, 2].map((discarded) => numberOf({ run: {}, generation: 7, discarded }))).toEqual([0, 2])
})
