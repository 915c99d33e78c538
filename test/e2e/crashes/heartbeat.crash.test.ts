import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import { localBackend } from '../local-backend.ts'
import { crashOneByOne, createCrashBench, type Crash } from './crash-runner.ts'
import { scenarios } from './scenarios.ts'
import { scriptedModel } from './scripted-model.ts'

/** Heartbeats come every 15 s; so much faster they come ten times while a slow tool executes. */
const HURRY = 400

let model: OpenAiServer
beforeAll(async () => {
  model = await startOpenAiServer(scriptedModel)
})
afterAll(() => model.close())

test('killed at a heartbeat: nothing acknowledged is lost, nothing is done twice, and the runs end', async () => {
  const bench = await createCrashBench(model.baseUrl, localBackend, HURRY)
  try {
    const crashes = scenarios
      .filter(({ name }) => ['queued', 'steer'].includes(name))
      .flatMap((scenario) =>
        [1, 2, 4].flatMap((step) =>
          (['before', 'after'] as const).map((when): Crash => {
            return { scenario, faults: [{ kind: 'lease.heartbeat', step, when }] }
          }),
        ),
      )
    const taken = await crashOneByOne(
      bench,
      // A busy machine may not get to as many heartbeats.
      crashes.map((crash) => Array.from({ length: 5 }, () => crash)),
    )
    expect(taken).toStrictEqual(crashes)
  } finally {
    await bench.remove()
  }
})
