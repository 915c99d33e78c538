import { expect, test } from 'vitest'
import type { RunState } from '../../../../functions/agent/loop/run-state.ts'
import { schemaFault, strictFault } from '../../../../functions/agent/loop/tools/strict-arguments.ts'
import { longestTurn } from '../../../processor-time.ts'

const TOOL = {
  name: 'weather',
  description: '',
  parameters: { type: 'object', properties: { city: { type: 'string', pattern: '^(a+)+$' } } },
  strict: true,
} as const
/** Each of a run of its own. */
const heldBy = (tenant: string) => ({ run: {}, lease: { tenant } }) as RunState['held']
const HOSTILE = JSON.stringify({ city: `${'a'.repeat(60)}!` })

test('checks that take too long leave most of the time to others, and keep no other tenant waiting', async () => {
  const checks = Array.from({ length: 4 }, () => strictFault(heldBy('acme'), TOOL, HOSTILE))
  const order: string[] = []
  const other = strictFault(heldBy('other'), TOOL, '{"city": "aa"}')
  void other.then(() => order.push('other'))
  for (const check of checks) void check.then(() => order.push('acme'))
  // Four checks of 250 ms, and never two of them at once.
  expect(await longestTurn(() => Promise.all(checks))).toBeLessThan(450)
  for (const fault of await Promise.all(checks)) expect(fault).toMatch(/in time$/)
  expect(await other).toBeUndefined()
  expect(order.indexOf('other')).toBeLessThan(2)
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
