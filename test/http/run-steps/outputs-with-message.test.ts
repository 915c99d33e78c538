/* Evidence, clients: Outputs for a Response are stored once, even if their request is interrupted at any write. */
import { afterEach, describe, expect, test } from 'vitest'
import type { Ports } from '../../../functions/runtime/program.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../harness.ts'
import { isWhole } from '../../whole.ts'
import { logOf, sessionsOf } from '../openai/openai-client.ts'

let harness: HttpHarness | undefined
const close = async (): Promise<void> => {
  const open = harness
  harness = undefined
  await open?.close()
}
afterEach(close)
const here = (): HttpHarness => {
  if (harness === undefined) throw new Error('no program is open')
  return harness
}

/** A request that stops after one write leaves the same state as one that stops before the next write. CI tries one of them. */
const SIDES = ['before', 'after'] as const

interface Reply {
  readonly id: string
  readonly status: string
  readonly output_text?: string
}
const create = (status: number, body: object, headers: Record<string, string> = {}): Promise<Reply> =>
  expectJson(here(), status, 'POST', '/openai/v1/responses', { model: 'default', ...body }, headers)
const again = { 'x-stainless-retry-count': '1' }

/** The fault of a request: the process appears to die before or after the write with the number `at`. */
const fault = { used: 0, at: 0, when: 'before' as 'before' | 'after' }
async function breaking<Result>(write: () => Promise<Result>): Promise<Result> {
  const breaks = ++fault.used === fault.at
  if (breaks && fault.when === 'before') throw new Error('cut off')
  const result = await write()
  if (breaks) throw new Error('cut off')
  return result
}
const faulty = (ports: Ports): Ports => ({
  ...ports,
  names: { ...ports.names, give: (...given) => breaking(() => ports.names.give(...given)) },
  inbox: {
    ...ports.inbox,
    enqueue: (...given) => breaking(() => ports.inbox.enqueue(...given)),
    resolve: (...given) => breaking(() => ports.inbox.resolve(...given)),
  },
})

const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false }]
const input = [
  { type: 'function_call_output', call_id: 'c1', output: 'rain' },
  { role: 'user', content: 'And tomorrow?' },
]
const answers = [{ text: 'Rain.' }, { text: 'Tomorrow too.' }, { text: 'Once more.' }]

const session = 's'
/** Creates a session whose run waits for an output. Returns the request that sends this output with a message. */
async function asked(more: object): Promise<object> {
  await close()
  const script = [{ calls: [{ id: 'c1', name: 'weather' }] }, ...answers]
  harness = await openHttpHarness({ script, change: faulty })
  await expectJson(here(), 201, 'POST', '/v1/sessions', { id: session })
  Object.assign(fault, { used: 0, at: 0 })
  const first = await create(200, { input: 'Hello', tools, conversation: session })
  const where = 'conversation' in more ? { conversation: session } : { previous_response_id: first.id }
  return { ...more, ...where, input }
}

const runEnds = (): Promise<unknown> =>
  expect
    .poll(
      async () => (await expectJson<{ run: { status: string } }>(here(), 200, 'GET', `/v1/sessions/${session}`)).run,
    )
    .toMatchObject({ status: 'completed' })

describe.each([
  ['after a Response', {}],
  ['after a Response, not to be stored', { store: false }],
  ['in a conversation', { conversation: '' }],
])('outputs and a message %s', (_where, more) => {
  test.each(['at once', 'when all has ended'])(
    'are stored once if their request is interrupted at any write and repeated %s',
    async (moment) => {
      const whole = await asked(more)
      Object.assign(fault, { used: 0, at: 0 })
      await create(200, whole)
      const writes = fault.used
      expect(writes).toBeGreaterThan(2)
      // The last write only records that the response was delivered.
      for (let at = 1; at < writes; at++)
        for (const when of isWhole ? SIDES : SIDES.slice(at % 2, (at % 2) + 1)) {
          const body = await asked(more)
          Object.assign(fault, { used: 0, at, when })
          await create(500, body)
          const name = `write ${at}, ${when}`
          const { run } = await expectJson<{ run: { status: string } }>(here(), 200, 'GET', `/v1/sessions/${session}`)
          if (moment !== 'at once' && run.status !== 'paused') await runEnds()
          expect(await create(200, body, again), name).toMatchObject({ status: 'completed' })
          const log = (await logOf(here(), session)).map(({ role, status = '' }) => [role, status])
          const reported = log.filter(([role]) => role !== 'assistant')
          expect(reported, name).toEqual([
            ['user', ''],
            ['tool', 'completed'],
            ['user', ''],
          ])
          expect(await sessionsOf(here()), name).toHaveLength(1)
        }
    },
    60_000,
  )
})

test('repeated outputs and text belong to the later run for which they are sent', async () => {
  const ask = { calls: [{ id: 'c1', name: 'weather' }] }
  harness = await openHttpHarness({ script: [ask, { text: 'Rain.' }, { text: 'Too.' }, ask, ...answers] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: session })
  const ids: string[] = []
  for (const said of ['Hello', 'Hello again']) {
    await create(200, { input: said, tools, conversation: session })
    const { id, status } = await create(200, { conversation: session, input }, { 'x-stainless-retry-count': '0' })
    expect(status).toBe('completed')
    ids.push(id)
  }
  expect(new Set(ids).size).toBe(2)
  const calls = (await logOf(harness, session)).filter(({ role }) => role === 'tool')
  expect(calls.map(({ status }) => status)).toEqual(['completed', 'completed'])
})
