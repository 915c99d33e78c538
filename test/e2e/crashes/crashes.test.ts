import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import { crashAtEveryStep, createCrashBench } from './crash-runner.ts'
import { scenarios } from './scenarios.ts'
import { scriptedModel } from './scripted-model.ts'

describe('killed at every durable step', () => {
  let model: OpenAiServer
  beforeAll(async () => {
    model = await startOpenAiServer(scriptedModel)
  })
  afterAll(() => model.close())

  test.for(['before', 'after'] as const)(
    'parallel calls over two rounds: nothing acknowledged is lost, nothing is done twice, and the run ends (killed %s)',
    { timeout: 240_000, concurrent: true },
    async (when) => {
      const bench = await createCrashBench(model.baseUrl)
      try {
        const parallel = scenarios.find((scenario) => scenario.name === 'parallel')
        const steps = parallel === undefined ? 0 : await crashAtEveryStep(bench, parallel, when)
        console.log(`parallel: killed ${when} each of ${steps} durable steps`)
        expect(steps).toBeGreaterThan(8)
      } finally {
        await bench.remove()
      }
    },
  )
})
