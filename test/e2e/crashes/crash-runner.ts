import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunningProgram } from '../program.ts'
import { startProgram } from '../program.ts'
import type { Knowledge } from './durable-client.ts'
import { BROKEN_STREAM, createDurableClient, newKnowledge } from './durable-client.ts'
import type { Fault } from './faults.ts'
import { expectGone, expectWhole } from './invariants.ts'
import type { Scenario } from './scenarios.ts'

/** Further than a lease lasts: whoever was killed holds nothing any more. */
const SHIFT_MS = 70_000
const COMPOSITION = 'test/e2e/crashes/crashing-program.ts'
const TOOLS = ['search_history', 'read_output', 'record', 'lookup', 'guarded', 'big', 'slow', 'endless']

/** A program that is killed and started again on the same data. */
export interface CrashBench {
  readonly dataFolder: string
  readonly effects: string
  start(fault?: Fault): Promise<RunningProgram>
  /** Whatever starts from now on has a clock that is further ahead than a lease lasts. */
  letLeasesEnd(): void
  /** Durable steps of a session that was to be killed. */
  stepsOf(session: string): Promise<number>
  remove(): Promise<void>
}

export async function createCrashBench(modelBaseUrl: string): Promise<CrashBench> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'tooltrail-crash-'))
  const agents = join(dataFolder, 'agents.json')
  const effects = join(dataFolder, 'effects.txt')
  const trace = join(dataFolder, 'trace.txt')
  await writeFile(agents, JSON.stringify({ agents: { default: { tools: TOOLS } } }))
  await writeFile(effects, '')
  let shift = 0
  return {
    dataFolder,
    effects,
    start: (fault) =>
      startProgram({
        dataFolder,
        composition: COMPOSITION,
        env: {
          MODEL: 'scripted',
          MODEL_BASE_URL: modelBaseUrl,
          TOOLTRAIL_AGENTS: agents,
          EFFECTS: effects,
          CLOCK_SHIFT_MS: String(shift),
          ...(fault === undefined ? {} : { FAULT: JSON.stringify(fault), TRACE: trace }),
        },
      }),
    letLeasesEnd() {
      shift += SHIFT_MS
    },
    async stepsOf(session) {
      const lines = (await readFile(trace, 'utf8')).split('\n')
      return lines.filter((line) => line.startsWith(`${session}\t`)).length
    },
    remove: () => rm(dataFolder, { recursive: true, force: true }),
  }
}

/** Drives a session; answers whether it got to the end before the program was killed. Throws what is no crash. */
export async function driveUntilCrash(program: RunningProgram, scenario: Scenario, knows: Knowledge): Promise<boolean> {
  try {
    await scenario.drive(createDurableClient(program.client, knows))
    return true
  } catch (error) {
    if (await isCrash(program, error)) return false
    throw new Error(`${knows.session} failed without a crash; the program says: ${program.log()}`, { cause: error })
  }
}

/** Whether an error is a connection that broke because the program was killed; an expectation that failed never is. */
export async function isCrash(program: RunningProgram, error: unknown): Promise<boolean> {
  const isBroken = error instanceof TypeError || (error instanceof Error && error.message === BROKEN_STREAM)
  if (!isBroken) return false
  // A connection breaks a moment before the end of the process is known.
  await Promise.race([program.ended, new Promise((resolve) => setTimeout(resolve, 2_000))])
  return program.hasEnded()
}

/** Drives a session to its end and checks everything that must hold of it. */
async function finishAndCheck(
  bench: CrashBench,
  program: RunningProgram,
  scenario: Scenario,
  knows: Knowledge,
): Promise<void> {
  if (!(await driveUntilCrash(program, scenario, knows)))
    throw new Error(`${knows.session}: the program ended: ${program.log()}`)
  await check(bench, program, scenario, knows)
}

/** What must hold of a session that was driven to its end. */
export async function check(
  bench: CrashBench,
  program: RunningProgram,
  scenario: Scenario,
  knows: Knowledge,
): Promise<void> {
  if (scenario.deletes === true) await expectGone(program.client, knows, bench.dataFolder)
  else await expectWhole(program.client, knows, bench.effects)
}

/**
 * Runs a scenario again and again, each time in a session of its own and killed one durable step later, until it gets through
 * without meeting its fault. Each crash is continued, and checked, by the next start. Answers how many steps there were.
 */
export async function crashAtEveryStep(bench: CrashBench, scenario: Scenario, when: Fault['when']): Promise<number> {
  let crashed: Knowledge | undefined
  for (let step = 1; ; step++) {
    const knows = newKnowledge(`${scenario.name}-${when}-${step}`)
    const program = await bench.start({ session: knows.session, step, when })
    try {
      if (crashed !== undefined) await finishAndCheck(bench, program, scenario, crashed)
      if (await driveUntilCrash(program, scenario, knows)) {
        await check(bench, program, scenario, knows)
        const taken = await bench.stepsOf(knows.session)
        if (step > taken) return taken
        // The step was begun and never ended, such as a tool that was cancelled.
        crashed = undefined
      } else crashed = knows
    } finally {
      await program.kill()
      bench.letLeasesEnd()
    }
  }
}
