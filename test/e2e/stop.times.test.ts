/* Evidence, durability: A program that is stopped during a completion releases its lease. A program that cannot listen
 * executes no runs. */
/* Evidence, durability: On one machine, a killed program's run resumes as soon as the next program starts. */
/* Evidence, durability: A starting program does not take over the runs of living or suspended processes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { OpenAiServer } from '../model-server/openai-server.ts'
import { startOpenAiServer } from '../model-server/openai-server.ts'
import type { Place } from './backend/backend.ts'
import type { RunBody } from './backend/client.ts'
import { localBackend } from './backend/local-backend.ts'
import type { RunningProgram } from './backend/program.ts'
import { startProgram } from './backend/program.ts'
import { eventually, PROMISED_TIME_RETRIES, until } from '../eventually.ts'

const HURRIED = 'test/e2e/backend/hurried-program.ts'
/**
 * Time limit of a stop. It includes 2 s for the program's own limit, a tenth of the usual 20 s. The remaining time is
 * for the end of the process.
 */
const STOP_MS = 2_500
/** Time limit for resuming a run. It is shorter than the minute for which the lease of a dead process lasts. */
const SOON_MS = 30_000
/** Time from the start of the next program until the run of a killed one resumes (promises T5). */
const RESUMED_MS = 2_000
/** A time longer than a program needs from its start to its first sweep. */
const SWEPT_MS = 1_500

const cut = { parts: [{ type: 'text', text: 'this completion was never to come to its end' }] } as const
const whole = { parts: [{ type: 'text', text: 'this one is whole' }] } as const

let model: OpenAiServer
let place: Place
let programs: RunningProgram[]

beforeEach(async () => {
  // The model answers the first request with a few words and then stays silent.
  model = await startOpenAiServer([{ completion: cut, hangAfter: 3 }, { completion: whole }])
  place = await localBackend.open()
  programs = []
})
afterEach(async () => {
  await Promise.all(programs.map((program) => program.kill()))
  await model.close()
  await place.remove()
})

async function start(composition?: string): Promise<RunningProgram> {
  const env = { ...place.env, MODEL: 'any', MODEL_BASE_URL: model.baseUrl }
  const program = await startProgram({ env, ...definedFields({ composition }) })
  programs.push(program)
  return program
}

/** A run whose completion has started, with promises of its response and of the end of its stream. */
async function startRun({ client }: RunningProgram) {
  await client.post('/v1/sessions', { id: 's' })
  const waiting = client.send<RunBody>('POST', '/v1/sessions/s/messages', { content: 'go' }, { prefer: 'wait=60' })
  // If the program is ended at once, these requests fail. The test ignores their errors.
  waiting.catch(() => undefined)
  const { id } = await eventually(async () => {
    const { run } = await client.get<{ run: { id: string } | null }>('/v1/sessions/s')
    if (run === null) throw new Error('the input has not come in')
    return run
  })
  const isBegun = Promise.withResolvers<void>()
  const readStream = async (): Promise<string> => {
    const { body } = await fetch(`${client.url}/v1/sessions/s/runs/${id}/events`)
    let text = ''
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      if (text.includes('text.delta')) isBegun.resolve()
    }
    return text
  }
  const stream = readStream()
  stream.catch(() => undefined)
  await isBegun.promise
  return { id, waiting, stream }
}

const asPromised = { retry: PROMISED_TIME_RETRIES }

test(
  'a stop during a completion releases the lease: the next start requests the completion at once',
  asPromised,
  async () => {
    const one = await start(HURRIED)
    const { id, waiting, stream } = await startRun(one)
    const reported = Date.now()
    await one.kill('SIGTERM')
    expect(Date.now() - reported).toBeLessThan(STOP_MS)
    expect([one.exitCode(), one.log()]).toEqual([0, ''])
    expect((await stream).endsWith(': reconnect\n\n')).toBe(true)
    const { status, headers, body } = await waiting
    expect([status, headers.get('location'), body.status]).toEqual([202, `/v1/sessions/s/runs/${id}`, 'running'])

    const next = await start(HURRIED)
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
  },
)

test(
  'repeated signals of one Ctrl-C count as one, and a later signal ends the program at once',
  asPromised,
  async () => {
    const one = await start()
    await startRun(one)
    process.kill(one.pid, 'SIGINT')
    await sleep(100)
    process.kill(one.pid, 'SIGINT')
    await sleep(600)
    expect(one.hasEnded()).toBe(false)
    await one.kill('SIGTERM')
    expect(one.exitCode()).toBe(1)
  },
)

test('a program with a closed terminal hands its run off and exits with 0, despite a repeated SIGHUP', async () => {
  const one = await start()
  const { id } = await startRun(one)
  process.kill(one.pid, 'SIGHUP')
  await sleep(600)
  process.kill(one.pid, 'SIGHUP')
  await one.ended
  expect(one.exitCode()).toBe(0)
  const next = await start()
  const started = Date.now()
  await next.client.runUntil('s', id, ['completed'])
  expect(Date.now() - started).toBeLessThan(SOON_MS)
})

test(
  'a suspended program keeps its run; after a kill, the next start resumes the run within 2 s',
  asPromised,
  async () => {
    const one = await start()
    const { id } = await startRun(one)
    process.kill(one.pid, 'SIGSTOP')
    await start()
    await sleep(SWEPT_MS)
    process.kill(one.pid, 'SIGCONT')
    // If the holder had lost its lease, it would stop at its next poll.
    await sleep(SWEPT_MS)
    expect([model.requests.length, await one.client.get(`/v1/sessions/s/runs/${id}`)]).toMatchObject([
      1,
      { status: 'running' },
    ])
    await one.kill('SIGKILL')
    const next = await start()
    const started = Date.now()
    await until(() => model.requests.length === 2)
    const resumedMs = Date.now() - started
    console.log(`resumed ${resumedMs} ms after the program listened`)
    expect(resumedMs).toBeLessThan(RESUMED_MS)
    await next.client.runUntil('s', id, ['completed'])
  },
)
