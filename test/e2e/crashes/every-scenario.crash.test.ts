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

  const cases = scenarios
    .filter((scenario) => scenario.name !== 'parallel')
    .flatMap((scenario) => (['before', 'after'] as const).map((when) => ({ scenario, when, name: scenario.name })))

  test.for(cases)(
    'scenario $name, killed $when each step: nothing acknowledged is lost, nothing is done twice, and the runs end',
    { timeout: 300_000 },
    async ({ scenario, when, name }) => {
      const bench = await createCrashBench(model.baseUrl)
      try {
        const steps = await crashAtEveryStep(bench, scenario, when)
        console.log(`${name}: killed ${when} each of ${steps} durable steps`)
        expect(steps).toBeGreaterThan(3)
      } finally {
        await bench.remove()
      }
    },
  )
})
