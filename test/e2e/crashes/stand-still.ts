import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend } from '../backend/backend.ts'
import type { RunningProgram } from '../backend/program.ts'
import { check, createCrashBench, driveUntilCrash, finishAndCheck } from './crash-runner.ts'
import type { CrashBench } from './crash-runner.ts'
import { newKnowledge } from './parts/durable-client.ts'
import type { Fault } from './parts/faults.ts'
import type { Scenario } from './scenarios.ts'
import { scriptedModel } from './parts/scripted-model.ts'

/** Milliseconds in which a resumed program completes its immediate work. */
const GOES_ON_MS = 1_000

/**
 * Stops the program at every durable step of these scenarios, like a machine that swaps or a frozen function. Another program
 * takes over the session and completes it. Then the first program resumes where it was stopped.
 */
export const standStillOn = (backend: Backend, scenarios: readonly Scenario[]) =>
  describe(`a suspension at every durable step, on ${backend.name}`, () => {
    let model: OpenAiServer
    beforeAll(async () => {
      model = await startOpenAiServer(scriptedModel)
    })
    afterAll(() => model.close())

    const cases = scenarios.flatMap((scenario) =>
      (['before', 'after'] as const).map((when) => ({ scenario, when, name: scenario.name })),
    )

    test.for(cases)(
      'scenario $name, stopped $when each step during a takeover: the stopped process changes nothing, no work is repeated',
      { concurrent: true },
      async ({ scenario, when, name }) => {
        const bench = await createCrashBench(model.baseUrl, backend)
        try {
          const steps = await stopAtEveryStep(bench, scenario, when)
          console.log(`${name}: stood still ${when} each of ${steps} durable steps`)
          expect(steps).toBeGreaterThan(3)
        } finally {
          await bench.remove()
        }
      },
    )
  })

/** Stops the program at every step of one scenario. Returns the number of steps. */
async function stopAtEveryStep(bench: CrashBench, scenario: Scenario, when: Fault['when']): Promise<number> {
  for (let step = scenario.first ?? 1; ; step += scenario.stride ?? 1) {
    const knows = newKnowledge(`${scenario.name}-still-${when}-${step}`)
    const one = await bench.start({ session: knows.session, step, when, stops: true })
    bench.letLeasesEnd()
    const driven = driveUntilCrash(one, scenario, knows)
    // The stopped program's client fails if another client has continued the session.
    const ended = driven.then(
      () => true,
      () => false,
    )
    try {
      if (await isStuck(one, driven)) {
        const known = structuredClone(knows)
        const other = await bench.start()
        try {
          await finishAndCheck(bench, other, scenario, known)
          const before = await other.client.messages(knows.session)
          process.kill(one.pid, 'SIGCONT')
          await Promise.all([sleep(GOES_ON_MS), Promise.race([ended, sleep(10 * GOES_ON_MS)])])
          await check(bench, other, scenario, known)
          expect(await other.client.messages(knows.session), `${knows.session}: its messages`).toStrictEqual(before)
        } finally {
          await other.kill()
        }
      } else {
        await check(bench, one, scenario, knows)
        const taken = (await bench.stepsOf(knows.session)).length
        if (step > taken) return taken
      }
    } finally {
      await one.kill()
      await ended
    }
  }
}

/** Waits until a program is stopped or its scenario has ended. Returns true if the program is stopped. */
async function isStuck(program: RunningProgram, driven: Promise<boolean>): Promise<boolean> {
  let isThrough = false
  const through = driven.then(() => (isThrough = true))
  while (!isThrough) {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'state=', '-p', String(program.pid)])
    if (stdout.startsWith('T')) return true
    await Promise.race([through, sleep(50)])
  }
  return false
}
