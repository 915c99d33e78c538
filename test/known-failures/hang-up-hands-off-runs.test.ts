/*
 * A closed terminal (or an ended ssh connection) sends SIGHUP. The program hands its runs off, as it does for SIGTERM, and the next
 * program continues them at once. Today SIGHUP ends the program without a hand-off: its run waits a minute, until its lease expires.
 *
 * Suite: test/e2e/ (stop.times.test.ts)
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Place } from '../e2e/backend/backend.ts'
import { localBackend } from '../e2e/backend/local-backend.ts'
import { startProgram } from '../e2e/backend/program.ts'
import type { RunningProgram } from '../e2e/backend/program.ts'
import { startOpenAiServer } from '../model-server/openai-server.ts'
import type { OpenAiServer } from '../model-server/openai-server.ts'

/** A lease expires after 60 s. */
const HAND_OFF_MS = 30_000
const cut = { parts: [{ type: 'text', text: 'a completion that does not end' }] } as const
const whole = { parts: [{ type: 'text', text: 'a whole completion' }] } as const

let model: OpenAiServer
let place: Place
let programs: RunningProgram[]
beforeEach(async () => {
  model = await startOpenAiServer([{ completion: cut, hangAfter: 3 }, { completion: whole }])
  place = await localBackend.open()
  programs = []
})
afterEach(async () => {
  await Promise.all(programs.map((program) => program.kill()))
  await model.close()
  await place.remove()
})

async function start(): Promise<RunningProgram> {
  const program = await startProgram({ env: { ...place.env, MODEL: 'm', MODEL_BASE_URL: model.baseUrl } })
  programs.push(program)
  return program
}

async function expectHandOff(signal: NodeJS.Signals): Promise<void> {
  const first = await start()
  await first.client.post('/v1/sessions', { id: 's' })
  await first.client.post('/v1/sessions/s/messages', { content: 'go' }, { prefer: 'respond-async' })
  await expect.poll(() => model.requests.length).toBe(1)
  await first.kill(signal)
  const second = await start()
  const status = async () => (await second.client.get<{ run: { status: string } }>('/v1/sessions/s')).run.status
  await expect.poll(status, { timeout: HAND_OFF_MS }).toBe('completed')
}

test('SIGTERM hands a run off to the next program', () => expectHandOff('SIGTERM'))

test.fails('SIGHUP hands a run off to the next program', () => expectHandOff('SIGHUP'))
