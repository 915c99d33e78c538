import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend } from '../backend/backend.ts'
import { crashOneByOne, createCrashBench, type Crash } from './crash-runner.ts'
import { scenarios } from './scenarios.ts'
import { scriptedModel } from './parts/scripted-model.ts'

/** Heartbeats have an interval of 15 s. With this factor, ten heartbeats occur while a slow tool executes. */
const HURRY = 400

/** Kills the program before and after each of these heartbeats, in each of these scenarios. */
export const heartbeatKillsOn = (backend: Backend, beats: { readonly [scenario: string]: readonly number[] }) =>
  describe(`a kill at a heartbeat, on ${backend.name}`, () => {
    let model: OpenAiServer
    beforeAll(async () => {
      model = await startOpenAiServer(scriptedModel)
    })
    afterAll(() => model.close())

    test('loses no acknowledged input, repeats no work, and the runs end', async () => {
      const bench = await createCrashBench(model.baseUrl, backend, HURRY)
      try {
        const crashes = scenarios.flatMap((scenario) =>
          (beats[scenario.name] ?? []).flatMap((step) =>
            (['before', 'after'] as const).map((when): Crash => {
              return { scenario, faults: [{ kind: 'lease.heartbeat', step, when }] }
            }),
          ),
        )
        const taken = await crashOneByOne(
          bench,
          // On a busy machine, the program may send fewer heartbeats.
          crashes.map((crash) => Array.from({ length: 5 }, () => crash)),
        )
        expect(taken).toStrictEqual(crashes)
      } finally {
        await bench.remove()
      }
    })
  })
