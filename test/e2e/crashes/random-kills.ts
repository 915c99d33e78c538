import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend } from '../backend/backend.ts'
import type { RunningProgram } from '../backend/program.ts'
import type { CrashBench } from './crash-runner.ts'
import { check, createCrashBench, driveUntilCrash, isCrash } from './crash-runner.ts'
import type { Knowledge } from './parts/durable-client.ts'
import { newKnowledge } from './parts/durable-client.ts'
import { randomNumbers } from './parts/random-numbers.ts'
import type { Scenario } from './scenarios.ts'
import { scenarios } from './scenarios.ts'
import { scriptedModel } from './parts/scripted-model.ts'

const SESSIONS_AT_ONCE = 4
/** Number of benches at once, each with its own program and seed. */
const BENCHES = 2
const MAX_LIFE_MS = 700
/** Longest life of a program, as a multiple of its start time. On a busy machine, a shorter life would be spent on starting. */
const MAX_LIFE_STARTS = 1.5
const MAX_COMPLETION_MS = 60
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)

interface Series {
  readonly backend: Backend
  readonly modelBaseUrl: string
  readonly seed: number
  readonly kills: number
  /** Aborts all benches with the error of the first that fails. */
  readonly signal: AbortSignal
}
interface Count {
  readonly kills: number
  readonly sessions: number
  /** Number of sessions whose program was killed at least once. */
  readonly hit: number
}
interface Client {
  readonly scenario: Scenario
  readonly knows: Knowledge
  kills: number
}

/**
 * Kills programs at any moment, also while the model streams and tools execute. `kills`, an even number, is the total number of
 * kills.
 */
export const randomKillsOn = (backend: Backend, kills: number) =>
  test(
    `every session ends after ${kills} kills at random times, including during streams and tools, on ${backend.name}`,
    { timeout: 3_600_000 },
    async () => {
      const random = randomNumbers(SEED)
      const model = await startOpenAiServer(async (request) => {
        await sleep(random() * MAX_COMPLETION_MS)
        return scriptedModel(request)
      })
      try {
        const seeds = Array.from({ length: BENCHES }, (_, index) => SEED + index)
        console.log(`random kills with CRASH_SEED=${SEED}`)
        const failed = new AbortController()
        const series = { backend, modelBaseUrl: model.baseUrl, kills: kills / BENCHES, signal: failed.signal }
        const counts: Count[] = []
        await Promise.all(
          seeds.map(async (seed) => {
            try {
              counts.push(await killAtRandom({ ...series, seed }))
            } catch (error) {
              failed.abort(error)
            }
          }),
        )
        failed.signal.throwIfAborted()
        const sum = (pick: (count: Count) => number): number => counts.reduce((total, count) => total + pick(count), 0)
        console.log(
          `${sum((one) => one.kills)} kills, ${sum((one) => one.sessions)} sessions checked, ${sum((one) => one.hit)} of them killed at least once`,
        )
        expect(sum((one) => one.kills)).toBe(kills)
        expect(sum((one) => one.hit)).toBeGreaterThan(kills / 4)
      } finally {
        await model.close()
      }
    },
  )

/** Drives several sessions while their program is killed repeatedly. Checks each session that ends. */
async function killAtRandom({ backend, modelBaseUrl, seed, kills, signal }: Series): Promise<Count> {
  const random = randomNumbers(seed)
  const bench = await createCrashBench(modelBaseUrl, backend)
  const ended: Client[] = []
  let clients: Client[] = []
  let made = 0
  const newClient = (): Client => {
    const scenario = scenarios[Math.floor(random() * scenarios.length)] as Scenario
    return { scenario, knows: newKnowledge(`${scenario.name}-${seed}-${made++}`), kills: 0 }
  }
  try {
    for (let kill = 0; kill <= kills; kill++) {
      signal.throwIfAborted()
      while (kill < kills && clients.length < SESSIONS_AT_ONCE) clients.push(newClient())
      const begun = performance.now()
      const program = await bench.start()
      const startMs = performance.now() - begun
      const longestMs = Math.max(MAX_LIFE_MS * backend.slower, MAX_LIFE_STARTS * startMs)
      const life = kill < kills ? sleep(random() * longestMs).then(() => program.kill()) : undefined
      let done: readonly boolean[]
      try {
        done = await Promise.all(clients.map((client) => live(bench, program, client)))
      } finally {
        await (life ?? program.kill())
      }
      bench.letLeasesEnd()
      ended.push(...clients.filter((_, index) => done[index]))
      clients = clients.filter((_, index) => done[index] !== true)
    }
    expect(clients.length, 'sessions that do not get to their end').toBe(0)
    return { kills, sessions: ended.length, hit: ended.filter((client) => client.kills > 0).length }
  } finally {
    await bench.remove()
  }
}

/** Drives one session during one process of the program. Returns whether the session ended and was checked. */
async function live(bench: CrashBench, program: RunningProgram, client: Client): Promise<boolean> {
  try {
    if (await driveUntilCrash(program, client.scenario, client.knows)) {
      await check(bench, program, client.scenario, client.knows)
      return true
    }
  } catch (error) {
    if (!(await isCrash(program, error))) throw error
  }
  client.kills++
  return false
}
