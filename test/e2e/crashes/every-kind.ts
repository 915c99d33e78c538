import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend } from '../backend.ts'
import { check, crashOneByOne, createCrashBench, driveUntilCrash } from './crash-runner.ts'
import type { Crash, CrashBench } from './crash-runner.ts'
import { newKnowledge } from './durable-client.ts'
import { randomNumbers } from './random-numbers.ts'
import type { Scenario } from './scenarios.ts'
import { scenarios } from './scenarios.ts'
import { scriptedModel } from './scripted-model.ts'

/** Places that are crashed side by side, each with a program of its own. */
const BENCHES = 2
/** It is cancelled, so that there is no moment after it. */
const NEVER_ENDS = 'tool.endless'
/** Kinds that a run may miss. */
const MISSED = 3
/** There are more kinds than this. */
const MANY = 15
/** Steps of a program that finds what a dead one has left. It is killed there in its turn. */
const IN_RECOVERY = ['lease.take', 'lease.claim', 'log.repair']
/** Whether the sweeper or the worker clears what is due first is a matter of chance, and so is whether there is anything. */
const BY_CHANCE = new Set<string | undefined>(['janitor.clearDue'])

/** Kills the program once before or after each kind of durable step; the seed says which, in which scenario and where. */
export const everyKindOn = (backend: Backend, seed: number) =>
  describe(`killed at every kind of durable step, on ${backend.name}`, () => {
    let model: OpenAiServer
    const benches: CrashBench[] = []
    beforeAll(async () => {
      model = await startOpenAiServer(scriptedModel)
      for (let bench = 0; bench < BENCHES; bench++) benches.push(await createCrashBench(model.baseUrl, backend))
    })
    afterAll(async () => {
      await Promise.all(benches.map((bench) => bench.remove()))
      await model.close()
    })

    test('nothing acknowledged is lost, nothing is done twice, and the runs end', { timeout: 600_000 }, async () => {
      const [first] = benches
      const crashes = first === undefined ? [] : chooseCrashes(await stepsOfScenarios(first), randomNumbers(seed))
      const met = await Promise.all(
        benches.map((bench, place) =>
          crashOneByOne(
            bench,
            crashes.filter((_, index) => index % BENCHES === place),
          ),
        ),
      )
      const killed = met.flat()
      console.log(
        `seed ${seed}: ${killed.length} kills: ${killed.map(({ kind, when }) => `${when} ${kind}`).join(', ')}`,
      )
      const wanted = new Set(crashes.flatMap(({ faults }) => faults.map(({ kind }) => kind)))
      const missed = [...wanted].filter((kind) => !BY_CHANCE.has(kind) && killed.every((one) => one.kind !== kind))
      // A slow machine takes another way now and then; most of what was wanted must have been met.
      expect(missed.length, `kinds of steps that no kill has met: ${missed.join(', ')}`).toBeLessThanOrEqual(MISSED)
      expect(wanted.size).toBeGreaterThan(MANY)
    })
  })

/** Drives every scenario through undisturbed: the kinds of its durable steps, in their order. */
async function stepsOfScenarios(bench: CrashBench): Promise<Map<Scenario, readonly string[]>> {
  const program = await bench.start()
  try {
    const found = scenarios.map(async (scenario): Promise<[Scenario, readonly string[]]> => {
      const knows = newKnowledge(`${scenario.name}-undisturbed`)
      if (!(await driveUntilCrash(program, scenario, knows))) throw new Error(`the program ended: ${program.log()}`)
      await check(bench, program, scenario, knows)
      return [scenario, await bench.stepsOf(knows.session)]
    })
    return new Map(await Promise.all(found))
  } finally {
    await program.kill()
  }
}

/** One crash for each kind of step that was seen, and one in the recovery from a crash for each kind of that. */
function chooseCrashes(seen: ReadonlyMap<Scenario, readonly string[]>, random: () => number): Crash[] {
  const faultAt = (kind: string, step: number): Crash['faults'][number] => ({
    kind,
    step,
    when: random() < 0.5 || kind === NEVER_ENDS ? 'before' : 'after',
  })
  const places = new Map<string, Crash[]>()
  for (const [scenario, kinds] of seen)
    for (const [index, kind] of kinds.entries()) {
      const step = kinds.slice(0, index + 1).filter((before) => before === kind).length
      places.set(kind, [...(places.get(kind) ?? []), { scenario, faults: [faultAt(kind, step)] }])
    }
  const chosen = [...places.values()].flatMap((crashes) => crashes[Math.floor(random() * crashes.length)] ?? [])
  const parallel = scenarios.filter(({ name }) => name === 'parallel')
  const recoveries = parallel.flatMap((scenario) =>
    IN_RECOVERY.map((kind): Crash => {
      const first: Crash['faults'][number] = { kind: 'tool.record', step: 1, when: 'after' }
      return { scenario, faults: [first, faultAt(kind, 1)] }
    }),
  )
  return [...chosen, ...recoveries]
}
