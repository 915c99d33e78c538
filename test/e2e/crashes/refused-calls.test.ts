/* Evidence, durability: All refused calls get their rows, even if the program is killed before or after the write of these
 * rows. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import { localBackend } from '../backend/local-backend.ts'
import { crashOneByOne, createCrashBench } from './crash-runner.ts'
import type { CrashBench } from './crash-runner.ts'
import { scenarios } from './scenarios.ts'
import { scriptedModel } from './parts/scripted-model.ts'

let model: OpenAiServer
let bench: CrashBench
beforeAll(async () => {
  model = await startOpenAiServer(scriptedModel)
  bench = await createCrashBench(model.baseUrl, localBackend)
})
afterAll(async () => {
  await bench.remove()
  await model.close()
})

test(
  'all refused calls have rows if the process is killed before or after the write of these rows',
  {
    timeout: 3_600_000,
  },
  async () => {
    const many = scenarios.filter(({ name }) => name === 'many')
    const crashes = (['before', 'after'] as const).map((when) =>
      many.map((scenario) => ({ scenario, faults: [{ kind: 'log.append', step: 1, when }] })),
    )
    expect(await crashOneByOne(bench, crashes)).toEqual(crashes.flat())
  },
)
