import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import { isWhole } from '../../whole.ts'
import type { Backend } from '../backend/backend.ts'
import { check, crashOneByOne, createCrashBench, driveUntilCrash } from './crash-runner.ts'
import type { Crash, CrashBench } from './crash-runner.ts'
import { newKnowledge } from './parts/durable-client.ts'
import { randomNumbers } from './parts/random-numbers.ts'
import type { Scenario } from './scenarios.ts'
import { scenarios } from './scenarios.ts'
import { PORT_STEPS } from './parts/faults.ts'
import { effectTools } from './parts/effect-tools.ts'
import { scriptedModel } from './parts/scripted-model.ts'

/** Number of crashes at once, each with its own program. */
const BENCHES = 2
/** Every method of the ports that changes what is stored, and every tool. */
const EVERY_KIND = [...PORT_STEPS, ...effectTools('').map(({ name }) => `tool.${name}`)]
/** Each kind is tried once in this number of days. */
const DAYS = 12
const today = Math.floor(Date.now() / 86_400_000)
/** Step of a tool whose call never ends, because it is cancelled. No kill can follow this step. */
const NEVER_ENDS = 'tool.endless'
/** Number of places to try for a kind. The steps of a program differ a little between executions. */
const PLACES = 4
/**
 * Known places of some kinds of steps. A kind with `first` occurs when a program continues the work of a killed one: `first` is
 * the step at which the earlier program was killed. The other kinds occur in one scenario only.
 */
const KNOWN_PLACES: ReadonlyMap<string, { readonly scenario: string; readonly first?: string }> = new Map([
  ['lease.take', { scenario: 'parallel', first: 'tool.record' }],
  ['lease.claim', { scenario: 'parallel', first: 'tool.record' }],
  ['log.repair', { scenario: 'parallel', first: 'tool.record' }],
  // The step waits for the length of a lease.
  ['deletion.finish', { scenario: 'deletion', first: 'deletion.markRemoved' }],
  ['log.append', { scenario: 'many' }],
  ['log.steer', { scenario: 'steer' }],
])
/** Kinds of steps that may be absent in these scenarios, with the reason. */
const MAY_BE_ABSENT: ReadonlyMap<string, string> = new Map([
  ['sessions.update', 'no scenario changes its session'],
  ['lease.heartbeat', 'the first comes after 15 s'],
  ['lease.release', 'runs are handed over by a program that is told to stop, or on Lambda'],
  ['janitor.clearDue', 'the worker often clears what is due before the sweeper looks'],
  ['janitor.postpone', 'hints arrive, so the sweeper often finds nothing that is due'],
])

/** Kills the program once before or after each kind of durable step. The seed selects the side, the scenario and the place. */
export const everyKindOn = (backend: Backend, seed: number) =>
  describe(`a kill at every kind of durable step, on ${backend.name}`, () => {
    let model: OpenAiServer
    beforeAll(async () => {
      model = await startOpenAiServer(scriptedModel)
    })
    afterAll(() => model.close())

    test('loses no acknowledged input, repeats no work, and the runs end', { timeout: 3_600_000 }, async () => {
      const benches: CrashBench[] = []
      onTestFinished(async () => void (await Promise.all(benches.map((bench) => bench.remove()))))
      for (let bench = 0; bench < BENCHES; bench++) benches.push(await createCrashBench(model.baseUrl, backend))
      const [first] = benches
      const wishes = chooseCrashes(first === undefined ? new Map() : await stepsOfScenarios(first), randomNumbers(seed))
      const kinds = [...wishes.keys()]
      const left = new Set(isWhole ? [] : kinds.filter((_, index) => index % DAYS !== today % DAYS))
      const chosen = kinds.filter((kind) => !left.has(kind))
      const taken = await Promise.all(
        benches.map((bench, place) =>
          crashOneByOne(
            bench,
            chosen.filter((_, index) => index % BENCHES === place).map((kind) => wishes.get(kind) ?? []),
          ),
        ),
      )
      const killed = taken.flat().flatMap((crash) => crash?.faults.at(-1) ?? [])
      console.log(
        `seed ${seed}: ${killed.length} kills: ${killed.map(({ kind, when }) => `${when} ${kind}`).join(', ')}`,
      )
      const missed = EVERY_KIND.filter((kind) => !left.has(kind) && killed.every((one) => one.kind !== kind))
      expect(missed.filter((kind) => !MAY_BE_ABSENT.has(kind))).toStrictEqual([])
    })
  })

/** Drives every scenario without a crash. Returns the kinds of durable steps of each scenario, in order. */
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

/** Returns the places to try for each kind of step: the observed places, or the known place several times. */
function chooseCrashes(
  seen: ReadonlyMap<Scenario, readonly string[]>,
  random: () => number,
): Map<string, readonly Crash[]> {
  const faultAt = (kind: string, step: number): Crash['faults'][number] => ({
    kind,
    step,
    when: random() < 0.5 || kind === NEVER_ENDS ? 'before' : 'after',
  })
  const places = new Map<string, Crash[]>()
  for (const [scenario, kinds] of seen)
    for (const [index, kind] of kinds.entries()) {
      if (KNOWN_PLACES.has(kind)) continue
      const step = kinds.slice(0, index + 1).filter((before) => before === kind).length
      places.set(kind, [...(places.get(kind) ?? []), { scenario, faults: [faultAt(kind, step)] }])
    }
  for (const [kind, { scenario: name, first }] of KNOWN_PLACES)
    for (const scenario of scenarios.filter((one) => one.name === name))
      places.set(
        kind,
        Array.from({ length: PLACES }, (): Crash => {
          const before = first === undefined ? [] : [{ kind: first, step: 1, when: 'after' } as const]
          return { scenario, faults: [...before, faultAt(kind, 1)] }
        }),
      )
  return new Map([...places].map(([kind, crashes]) => [kind, shuffled(crashes, random).slice(0, PLACES)]))
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ item }) => item)
}
