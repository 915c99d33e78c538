/* Evidence, limits: A caller that waits for a run in the same process reads the session, but not the log. */
import { afterEach, expect, test } from 'vitest'
import { defineTool } from '../../../functions/tools/define-tool.ts'
import { z } from 'zod'
import type { Ports } from '../../../functions/runtime/program.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

const harnesses: HttpHarness[] = []
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.close()
})

/** All reads of sessions and their logs, by any caller. */
const reads: string[] = []
function counted<Port extends object>(name: string, port: Port, methods: readonly (keyof Port & string)[]): Port {
  return new Proxy(port, {
    get(target, method): unknown {
      const value: unknown = Reflect.get(target, method)
      if (typeof value !== 'function') return value
      return (...words: unknown[]): unknown => {
        if (methods.some((one) => one === method)) reads.push(`${name}.${String(method)}`)
        return Reflect.apply(value, target, words)
      }
    },
  })
}
const counting = (ports: Ports): Ports => ({
  ...ports,
  sessions: counted('sessions', ports.sessions, ['read']),
  reader: counted('reader', ports.reader, ['run', 'runs', 'queued', 'message', 'messages']),
})

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.strictObject({ at: z.string() }),
  idempotent: true,
  execute: async ({ at }) => ({ text: `${at} is there` }),
})

interface RunWithMessages {
  readonly id: string
  readonly status: string
  readonly messages: readonly { readonly id: string; readonly role: string }[]
}

async function openHarness(options: Parameters<typeof openHttpHarness>[0] = {}): Promise<HttpHarness> {
  const harness = await openHttpHarness({ change: counting, ...options })
  harnesses.push(harness)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  reads.length = 0
  return harness
}

const SESSION = '/v1/sessions/s'
const input = { content: 'go' }
const calls = [
  { id: 'a', name: 'look', arguments: '{"at":"here"}' },
  { id: 'b', name: 'look', arguments: '{"at":"there"}' },
]

test('a request that waits for a run of this process reads the session, but not the log', async () => {
  const harness = await openHarness({ tools: [look], script: [{ text: 'looking', calls }, { text: 'done' }] })
  const run = await expectJson<RunWithMessages>(harness, 200, 'POST', `${SESSION}/messages`, input)
  expect(run.status).toBe('completed')
  // The single read of messages is the loop's own, at its start.
  expect(reads).toEqual(['sessions.read', 'reader.messages'])
})

test('the messages handed over by the loop equal those of the log', async () => {
  const harness = await openHarness({ tools: [look], script: [{ text: 'looking', calls }, { text: 'done' }] })
  const run = await expectJson<RunWithMessages>(harness, 200, 'POST', `${SESSION}/messages`, input)
  const log = await expectJson<{ data: unknown[] }>(harness, 200, 'GET', `${SESSION}/messages?order=asc`)
  expect(run.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
  expect(run.messages).toEqual(log.data)
  const { messages: _, ...shown } = run
  expect(shown).toEqual(await expectJson(harness, 200, 'GET', `${SESSION}/runs/${run.id}`))
})

test('a failed run is returned with its error message', async () => {
  const harness = await openHarness({
    script: [
      // eslint-disable-next-line require-yield -- It fails before anything streams.
      async function* fails() {
        throw new Error('broken')
      },
    ],
  })
  const run = await expectJson<RunWithMessages>(harness, 200, 'POST', `${SESSION}/messages`, input)
  expect(run.status).toBe('failed')
  const log = await expectJson<{ data: unknown[] }>(harness, 200, 'GET', `${SESSION}/messages?order=asc`)
  expect(run.messages).toEqual(log.data)
})

test('a queued run is read from the log once it has ended', async () => {
  const held = heldTurn()
  const harness = await openHarness({ script: [held.turn, { text: 'second' }] })
  const first = expectJson<RunWithMessages>(harness, 200, 'POST', `${SESSION}/messages`, input)
  await expect.poll(() => harness.requests.length).toBe(1)
  const second = expectJson<RunWithMessages>(harness, 200, 'POST', `${SESSION}/messages`, input)
  await expect
    .poll(async () => (await harness.ports.lease.readHeader({ tenant: 'default', session: 's' }))?.queued)
    .toBe(1)
  held.letGo()
  expect((await first).messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect((await second).messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test('a wait that times out returns the current state of the run', async () => {
  const held = heldTurn()
  const harness = await openHarness({ script: [held.turn] })
  const run = await expectJson<RunWithMessages>(harness, 202, 'POST', `${SESSION}/messages`, input, {
    prefer: 'wait=1',
  })
  expect(run.status).toBe('running')
  held.letGo()
})
