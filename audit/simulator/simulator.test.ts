import { expect, test } from 'vitest'
import { isWhole } from '../../test/whole.ts'
import { generate } from './scripts/generate.ts'
import type { ProgramPorts } from './program.ts'
import { shrink } from './scripts/shrink.ts'
import { simulate } from './simulation.ts'
import type { Options } from './simulation.ts'
import { openFileStore, openMemoryStore } from './world/stores.ts'

/** `npm run simulate` runs further seeds. */
const SEEDS = isWhole ? 100 : 16
/** Number of seeds whose store is a file. They are slow, because each commit is synced. */
const IN_A_FILE = 2
const options: Options = { openStore: openMemoryStore, keepTrace: false }

test('no simulation breaks a promise', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violation } = await simulate(generate(String(seed)), options)
    expect(violation?.message, `npm run simulate -- --seed ${seed} --trace`).toBeUndefined()
  }
})

test('processes with separate connections to one file behave like processes that share a connection', async () => {
  for (let seed = 1; seed <= IN_A_FILE; seed++) {
    const script = generate(String(seed))
    const inFile = await simulate(script, { openStore: openFileStore, keepTrace: true })
    expect(inFile).toEqual(await simulate(script, { ...options, keepTrace: true }))
  }
})

test('every simulation of a seed gives the same trace', async () => {
  const script = generate('11')
  const first = await simulate(script, { ...options, keepTrace: true })
  const second = await simulate(script, { ...options, keepTrace: true })
  expect(first.steps).toBeGreaterThan(100)
  expect(second).toEqual(first)
})

/** A bug: tools start before their round is stored. */
const early = (ports: ProgramPorts): ProgramPorts => ({
  ...ports,
  log: { ...ports.log, appendRound: async (lease, round) => void ports.log.appendRound(lease, round) },
})

/** A bug: calls that were open at a crash are not repaired. */
const careless = (ports: ProgramPorts): ProgramPorts => ({ ...ports, log: { ...ports.log, repair: async () => [] } })

test.each([
  ['tools begin before their round is stored', early, 'what an event reports is stored before'],
  ['open calls are not repaired after a crash', careless, 'no call runs twice unless it may'],
])(
  'a planted fault is found and minimised: %s',
  async (_, plant, rule) => {
    const planted = { ...options, plant }
    for (let seed = 1; seed <= SEEDS; seed++) {
      const script = generate(String(seed))
      const { violation } = await simulate(script, planted)
      if (violation === undefined) continue
      expect(violation.rule).toMatch(rule)
      const smallest = await shrink(script, violation.rule, planted)
      expect(smallest.operations.length).toBeLessThanOrEqual(3)
      expect(smallest.faults.length).toBeLessThanOrEqual(2)
      const again = await simulate(smallest, { ...planted, keepTrace: true })
      expect(again.trace.at(-1)).toContain(violation.rule)
      return
    }
    expect.unreachable('nothing was noticed')
  },
  120_000,
)
