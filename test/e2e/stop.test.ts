import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { OpenAiServer } from '../model-server/openai-server.ts'
import { startOpenAiServer } from '../model-server/openai-server.ts'
import type { Place } from './backend.ts'
import type { RunBody } from './client.ts'
import { localBackend } from './local-backend.ts'
import type { RunningProgram } from './program.ts'
import { startProgram } from './program.ts'

/** What the program gives itself for a stop, 20 s, and its end, where every wait is ten times shorter. */
const STOP_MS = 2_500
/** The lease of whoever died would last for a minute. */
const SOON_MS = 5_000

const cut = { parts: [{ type: 'text', text: 'this answer was never to come to its end' }] } as const
const whole = { parts: [{ type: 'text', text: 'this one is whole' }] } as const

let model: OpenAiServer
let place: Place
let programs: RunningProgram[]

beforeEach(async () => {
  // The first request is answered with a few words, and then silence.
  model = await startOpenAiServer([{ answer: cut, hangAfter: 3 }, { answer: whole }])
  place = await localBackend.open()
  programs = []
})
afterEach(async () => {
  await Promise.all(programs.map((program) => program.kill()))
  await model.close()
  await place.remove()
})

async function start(): Promise<RunningProgram> {
  const env = { ...place.env, MODEL: 'any', MODEL_BASE_URL: model.baseUrl }
  const program = await startProgram({ env, composition: 'test/e2e/hurried-program.ts' })
  programs.push(program)
  return program
}

/** A run whose model has begun to answer, with the stream of its events as it goes on. */
async function startRun({ client }: RunningProgram) {
  await client.post('/v1/sessions', { id: 's' })
  const run = await client.post<RunBody>('/v1/sessions/s/messages', { content: 'go' }, { prefer: 'respond-async' })
  const { body } = await fetch(`${client.url}/v1/sessions/s/runs/${run.id}/events`)
  let streamed = ''
  const isBegun = Promise.withResolvers<void>()
  const ended = (async () => {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      streamed += Buffer.from(chunk).toString()
      if (streamed.includes('text.delta')) isBegun.resolve()
    }
    return streamed
  })()
  await isBegun.promise
  return { id: run.id, stream: ended }
}

test('a stop in the middle of an answer leaves no lease behind: the next start asks again at once', async () => {
  const one = await start()
  const { id, stream } = await startRun(one)
  const waiting = one.client.send<RunBody>('POST', '/v1/sessions/s/continue', {}, { prefer: 'wait=60' })
  await sleep(50)

  const told = Date.now()
  await one.kill('SIGTERM')
  expect(Date.now() - told).toBeLessThan(STOP_MS)
  expect([one.exitCode(), one.log()]).toEqual([0, ''])
  expect((await stream).endsWith(': reconnect\n\n')).toBe(true)
  const { status, headers, body } = await waiting
  expect([status, headers.get('location'), body.status]).toEqual([202, `/v1/sessions/s/runs/${id}`, 'running'])

  const next = await start()
  const started = Date.now()
  await next.client.runUntil('s', id, ['completed'])
  expect(Date.now() - started).toBeLessThan(SOON_MS)
  const messages = await next.client.messages('s')
  expect(messages.map(({ role, parts }) => [role, parts])).toEqual([
    ['user', [{ type: 'text', text: 'go' }]],
    ['assistant', whole.parts],
  ])
  const [first, second] = model.bodies()
  expect(second).toEqual(first)
})

test('signals of one press of Ctrl-C are one, and the next ends the program at once', async () => {
  const one = await start()
  await startRun(one)
  process.kill(one.pid, 'SIGINT')
  await sleep(100)
  process.kill(one.pid, 'SIGINT')
  await sleep(600)
  expect(one.hasEnded()).toBe(false)
  const told = Date.now()
  await one.kill('SIGTERM')
  expect([one.exitCode(), Date.now() - told < 500]).toEqual([1, true])
})
