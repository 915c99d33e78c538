import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { RunState } from '../../../functions/agent/loop/run-state.ts'
import { schemaFault, strictFault } from '../../../functions/agent/loop/strict-arguments.ts'

const TOOL = {
  name: 'weather',
  description: '',
  parameters: { type: 'object', properties: { city: { type: 'string', pattern: '^(a+)+$' } } },
  strict: true,
} as const
/** Each of a run of its own. */
const heldBy = (tenant: string) => ({ run: {}, lease: { tenant } }) as RunState['held']
/** Milliseconds that this thread has worked, on a machine that others may use. */
const processorTime = (): number => process.threadCpuUsage().user / 1_000
const HOSTILE = JSON.stringify({ city: `${'a'.repeat(60)}!` })

test('checks that take too long leave most of the time to others, and keep no other tenant waiting', async () => {
  const checks = Array.from({ length: 4 }, () => strictFault(heldBy('acme'), TOOL, HOSTILE))
  const all = Promise.all(checks)
  let isOver = false
  void all.then(() => (isOver = true))
  const begun = performance.now()
  const other = strictFault(heldBy('other'), TOOL, '{"city": "aa"}').then((fault) => {
    expect(fault).toBeUndefined()
    return performance.now() - begun
  })
  const gaps: number[] = []
  while (!isOver) {
    const before = processorTime()
    await sleep(1)
    gaps.push(processorTime() - before)
  }
  for (const fault of await all) expect(fault).toMatch(/in time$/)
  expect(await other).toBeLessThan(2_000)
  // Four checks of 250 ms, and never two of them at once.
  expect(Math.max(...gaps)).toBeLessThan(450)
})

test('a check that the machine keeps from working for a while is done nevertheless', async () => {
  const stalled = new Int32Array(new SharedArrayBuffer(4))
  let looks = 0
  const properties = {
    get city() {
      if (looks++ === 0) Atomics.wait(stalled, 0, 0, 1_000)
      return { type: 'string' }
    },
  }
  const tool = { name: 'weather', parameters: { type: 'object', properties } }
  expect(await schemaFault(heldBy('stalled'), tool, '{"city": "Rome"}')).toBeUndefined()
  expect(looks).toBeGreaterThan(1)
})

test('a schema is of the draft that it names', async () => {
  const pair = { type: 'array', items: [{ type: 'string' }, { type: 'number' }] }
  const named = (draft: string) => ({
    name: 'pair',
    parameters: { $schema: `http://json-schema.org/${draft}/schema#`, type: 'object', properties: { pair } },
  })
  const faultOf = (draft: string, text: string) => schemaFault(heldBy('acme'), named(draft), text)
  for (const draft of ['draft-04', 'draft-06', 'draft-07']) {
    expect(await faultOf(draft, '{"pair": ["a", 1]}'), draft).toBeUndefined()
    expect(await faultOf(draft, '{"pair": ["a", "b"]}'), draft).toMatch(/#\/pair\/1: .*number/)
  }
})
