/* Evidence, durability: From every log that a crash can leave, a run ends, and no effect that must not repeat runs
 * twice. */
import { expect, expectTypeOf, test } from 'vitest'
import type { nextStep } from '../../../functions/agent/loop/next-step.ts'
import type { Step } from '../../../functions/agent/loop/next-step.ts'
import type { executeRun } from '../../../functions/agent/loop/run-loop.ts'
import type { OpeningRun, RunState } from '../../../functions/agent/loop/run-state.ts'
import type { OpenThread, Thread } from '../../../functions/agent/loop/thread.ts'
import type { executeCalls } from '../../../functions/agent/loop/tools/execute-calls.ts'
import { MAX_ROUND_CALLS, OPEN_STATUSES } from '../../../functions/domain/messages/message.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import { fc } from '../../generators/seeded.ts'
import { isWhole } from '../../whole.ts'
import { playRun } from './step-world.ts'
import type { Tape, World } from './step-world.ts'

function tapeOf(numbers: readonly number[]): Tape {
  let place = 0
  return { pick: (count) => (numbers[place++] ?? 0) % count }
}

const RUNS = isWhole ? 1_200 : 300
const tapes = fc.array(fc.nat({ max: 1_000_000 }), { maxLength: 600, size: 'max' })
const rowsOf = ({ log }: World): ToolMessage[] => log.filter((message) => message.role === 'tool')

test('a run ends with all of its calls closed, wherever its holders crash', () => {
  const steps = new Set<Step['type']>()
  let crashes = 0
  fc.assert(
    fc.property(tapes, (numbers) => {
      const world = playRun(tapeOf(numbers))
      for (const step of world.steps) steps.add(step)
      crashes += world.crashes
      expect(world.faults).toEqual([])
      expect(rowsOf(world).filter(({ status }) => OPEN_STATUSES.includes(status))).toEqual([])
    }),
    { numRuns: RUNS },
  )
  // The generated runs crash, and they reach every step that a run without failures has.
  expect(crashes).toBeGreaterThan(RUNS)
  const all = ['storeRefused', 'beginApproved', 'delegate', 'executeCalls', 'waitForDecision', 'summarise', 'request']
  expect([...steps]).toEqual(expect.arrayContaining([...all, 'finish']))
})

test('only calls of idempotent tools take effect twice, and refused calls have no effect', () => {
  fc.assert(
    fc.property(tapes, (numbers) => {
      const world = playRun(tapeOf(numbers))
      for (const { id, toolName, sequence, status } of rowsOf(world)) {
        const effects = world.effects.get(id) ?? 0
        if (toolName !== 'repeatable') expect(effects).toBeLessThanOrEqual(1)
        if (sequence >= MAX_ROUND_CALLS || status === 'error') expect(effects).toBe(0)
        if (status === 'denied' || toolName === 'client') expect(effects).toBe(0)
      }
    }),
    { numRuns: RUNS },
  )
})

test('each call of each completion has one row', () => {
  fc.assert(
    fc.property(tapes, (numbers) => {
      const world = playRun(tapeOf(numbers))
      for (const message of world.log)
        if (message.role === 'assistant') {
          const rows = rowsOf(world).filter(({ assistantMessageId }) => assistantMessageId === message.id)
          expect(rows.map(({ sequence }) => sequence)).toEqual(message.toolCalls.map((_, sequence) => sequence))
        }
    }),
    { numRuns: RUNS / 3 },
  )
})

test('the types reject a step in a phase of the run that lacks the state for this step', () => {
  expectTypeOf<OpeningRun>().not.toExtend<Parameters<typeof executeRun>[0]>()
  expectTypeOf<OpeningRun>().not.toExtend<Parameters<typeof executeCalls>[0]>()
  expectTypeOf<Thread>().not.toExtend<Parameters<typeof nextStep>[0]>()
  expectTypeOf<Thread>().not.toExtend<Parameters<typeof executeCalls>[1]>()
  expectTypeOf<RunState>().toExtend<Parameters<typeof executeRun>[0]>()
  expectTypeOf<OpenThread>().toExtend<Parameters<typeof nextStep>[0]>()
})
