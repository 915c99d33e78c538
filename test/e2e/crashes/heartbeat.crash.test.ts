import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import { localBackend } from '../local-backend.ts'
import { crashOneByOne, createCrashBench, type Crash } from './crash-runner.ts'
import { scenarios } from './scenarios.ts'
import { scriptedModel } from './scripted-model.ts'

/** Heartbeats come every 15 s; so much faster they come ten times while a slow tool executes. */
const HURRY = 400

/** Which heartbeats, by scenario. The later ones of the last come while its model is silent. */
const BEATS: { readonly [scenario: string]: readonly number[] } = {
  queued: [1, 2, 4],
  steer: [1, 2, 4],
  silent: [2, 12, 24],
}

let model: OpenAiServer
beforeAll(async () => {
  model = await startOpenAiServer(scriptedModel)
})
afterAll(() => model.close())

test('killed at a heartbeat: nothing acknowledged is lost, nothing is done twice, and the runs end', async () => {
  const bench = await createCrashBench(model.baseUrl, localBackend, HURRY)
  try {
    const crashes = scenarios.flatMap((scenario) =>
      (BEATS[scenario.name] ?? []).flatMap((step) =>
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
