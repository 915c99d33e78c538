/* Evidence, limits: Runs that wait for checks of arguments keep their leases, and each sends its request to the model once. */
import { expect, test } from 'vitest'
import { checkArguments } from '../../../../functions/agent/loop/tools/strict-arguments.ts'
import type { Run } from '../../../../functions/domain/runs/run.ts'
import { longestTurn } from '../../../processor-time.ts'

const TOOL = {
  name: 'weather',
  description: '',
  parameters: { type: 'object', properties: { city: { type: 'string', pattern: '^(a+)+$' } } },
  strict: true,
} as const
/** Returns the run of a check. Each check belongs to a separate run. */
const runOf = (tenant: string, signal = new AbortController().signal) => ({ run: {} as Run, tenant, signal })
const HOSTILE = JSON.stringify({ city: `${'a'.repeat(60)}!` })

test('slow checks leave time for other work between them, and do not delay other tenants', async () => {
  const checks = Array.from({ length: 4 }, () => checkArguments(runOf('acme'), TOOL, HOSTILE))
  const order: string[] = []
  const other = checkArguments(runOf('other'), TOOL, '{"city": "aa"}')
  void other.then(() => order.push('other'))
  for (const check of checks) void check.then(() => order.push('acme'))
  // Each of the four checks takes 250 ms, and no two of them run at once.
  const begun = performance.now()
  expect(await longestTurn(() => Promise.all(checks))).toBeLessThan(450)
  // Between the checks, there are three rests of 750 ms each.
  expect(performance.now() - begun).toBeGreaterThan(2_250)
  expect(await Promise.all(checks)).toEqual(checks.map(() => 'unchecked'))
  expect(await other).toEqual({})
  expect(order.indexOf('other')).toBeLessThan(2)
})

test('a check that is suspended by a busy machine is retried and completes', async () => {
  const stalled = new Int32Array(new SharedArrayBuffer(4))
  let looks = 0
  const properties = {
    get city() {
      if (looks++ === 0) Atomics.wait(stalled, 0, 0, 1_000)
      return { type: 'string' }
    },
  }
  const tool = { name: 'weather', parameters: { type: 'object', properties } }
  expect(await checkArguments(runOf('stalled'), tool, '{"city": "Rome"}')).toEqual({})
  expect(looks).toBeGreaterThan(1)
})

test('a schema is validated under the draft that it names', async () => {
  const pair = { type: 'array', items: [{ type: 'string' }, { type: 'number' }] }
  const named = (draft: string) => ({
    name: 'pair',
    parameters: { $schema: `http://json-schema.org/${draft}/schema#`, type: 'object', properties: { pair } },
  })
  const checked = (draft: string, text: string) => checkArguments(runOf('acme'), named(draft), text)
  for (const draft of ['draft-04', 'draft-06', 'draft-07']) {
    expect(await checked(draft, '{"pair": ["a", 1]}'), draft).toEqual({})
    expect(await checked(draft, '{"pair": ["a", "b"]}'), draft).toMatchObject({
      fault: expect.stringMatching(/#\/pair\/1: .*number/),
    })
  }
})

test('a check that times out in the queue leaves its call unchecked and blocks no later check', async () => {
  const first = checkArguments(runOf('crowded'), TOOL, HOSTILE)
  const late = new AbortController()
  const looks: string[] = []
  const watched = (city: string) => ({
    name: 'weather',
    parameters: {
      type: 'object',
      properties: {
        get city() {
          looks.push(city)
          return { type: 'string' }
        },
      },
    },
  })
  const second = checkArguments(runOf('crowded', late.signal), watched('Rome'), '{"city": "Rome"}')
  const third = checkArguments(runOf('crowded'), watched('Oslo'), '{"city": "Oslo"}')
  late.abort()
  expect(await second).toBe('unchecked')
  expect(looks).toEqual([])
  expect(await Promise.all([first, third])).toEqual(['unchecked', {}])
  expect(new Set(looks)).toEqual(new Set(['Oslo']))
})
