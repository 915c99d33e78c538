import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend } from '../backend/backend.ts'
import { crashAtEveryStep, createCrashBench } from './crash-runner.ts'
import type { Scenario } from './scenarios.ts'
import { scriptedModel } from './parts/scripted-model.ts'

export type Moment = 'before' | 'after'

const BOTH = ['before', 'after'] as const

/**
 * Kills the program before and after every durable step of these scenarios. `momentsOf` can limit a scenario to one of these two
 * moments.
 */
export const everyStepOn = (
  backend: Backend,
  scenarios: readonly Scenario[],
  momentsOf: (place: number) => readonly Moment[] = () => BOTH,
) =>
  describe(`a kill at every durable step, on ${backend.name}`, () => {
    let model: OpenAiServer
    beforeAll(async () => {
      model = await startOpenAiServer(scriptedModel)
    })
    afterAll(() => model.close())

    const cases = scenarios.flatMap((scenario, place) =>
      momentsOf(place).map((when) => ({ scenario, when, name: scenario.name })),
    )

    test.for(cases)(
      'scenario $name, killed $when each step: no acknowledged input is lost, no work is repeated, the runs end',
      { timeout: 3_600_000, concurrent: true },
      async ({ scenario, when, name }) => {
        const bench = await createCrashBench(model.baseUrl, backend)
        try {
          const steps = await crashAtEveryStep(bench, scenario, when)
          const { first = 1, stride = 1 } = scenario
          console.log(`${name}: killed ${when} ${Math.ceil((steps + 1 - first) / stride)} of ${steps} durable steps`)
          expect(steps).toBeGreaterThan(3)
        } finally {
          await bench.remove()
        }
      },
    )
  })
