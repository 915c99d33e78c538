import { expect, test } from 'vitest'
import { createClosedTurns } from '../../../functions/agent/imports/closed-turns.ts'
import { createStepRounds, type BegunTurn } from '../../../functions/agent/imports/import-rounds.ts'
import type { ClosedAssistantMessage } from '../../../functions/domain/messages/closed-message.ts'
import { createLoops } from '../../../functions/log/import/newest.ts'

const MANY = 100_000
const STEP = 80

const completion = (parentToolCallId: string): ClosedAssistantMessage => ({
  role: 'assistant',
  parts: [],
  toolCalls: [],
  parentToolCallId,
})

test('an imported turn remembers the rounds of its newest 100,000 loops of leaders and members', () => {
  const { place } = createClosedTurns()
  const roundOf = (name: string): number => place(completion(name)).round
  expect([roundOf('first'), roundOf('first'), roundOf('second')]).toEqual([0, 1, 0])
  for (let loop = 2; loop < MANY; loop++) roundOf(`${loop}`)
  expect(roundOf('first')).toBe(2)
  roundOf('one more')
  expect([roundOf('first'), roundOf('second')]).toEqual([3, 0])
})

test('an imported turn stores at most 32 MB of loop names', () => {
  const { place } = createClosedTurns()
  const roundOf = (name: string): number => place(completion(name.padEnd(1024 * 1024, 'x'))).round
  for (let loop = 0; loop < 33; loop++) roundOf(`${loop}:`)
  expect([roundOf('32:'), roundOf('0:')]).toEqual([1, 0])
})

test('after the steps of an imported turn are stored, the import keeps the rounds of its newest loops', async () => {
  const moved = createLoops<number>()
  const begun: BegunTurn = { turn: 0, holds: 'rest', moved }
  const numbered = async (first: number): Promise<ReturnType<typeof createStepRounds>> => {
    const rounds = createStepRounds(begun, async () => 0)
    for (let loop = first; loop < first + STEP; loop++)
      expect(await rounds.of({ message: completion(`${loop}`), turn: 0, round: 7 })).toBe(0)
    return rounds
  }
  await numbered(0)
  expect(moved.get('0')).toBeUndefined()
  for (let first = 0; first <= MANY; first += STEP) expect((await numbered(first)).moved().moved).toBe(moved)
  expect([moved.get('0'), moved.get(`${MANY}`)]).toEqual([undefined, -7])
})
