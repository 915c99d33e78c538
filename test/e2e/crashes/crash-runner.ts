import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backend, Place } from '../backend/backend.ts'
import type { RunningProgram } from '../backend/program.ts'
import { EndedEarly, startProgram } from '../backend/program.ts'
import type { Knowledge } from './parts/durable-client.ts'
import { BROKEN_STREAM, createDurableClient, newKnowledge } from './parts/durable-client.ts'
import type { Fault } from './parts/faults.ts'
import { openReceiver } from '../../channels/callbacks/receiver.ts'
import type { Receiver } from '../../channels/callbacks/receiver.ts'
import { expectGone, expectWhole } from './invariants.ts'
import type { Scenario } from './scenarios.ts'
import { callbacksTo, expectReported } from './parts/reported.ts'

/** A time longer than a lease. After this time, the leases of killed processes have expired. */
const SHIFT_MS = 70_000
const AFTERWARDS_MS = 1_000
const SLOW_MS = 400
/** Duration of a model's silence after which the request is repeated. */
const SILENT_MS = 1_000
const COMPOSITION = 'test/e2e/crashes/crashing-program.ts'
const TOOLS = [
  'search_history',
  'read_output',
  'record',
  'lookup',
  'found',
  'guarded',
  'big',
  'slow',
  'tardy',
  'endless',
]

/** A program that is killed and restarted on the same data. */
export interface CrashBench {
  readonly backend: Backend
  readonly place: Place
  readonly effects: string
  /** Receives the callbacks of sessions. */
  readonly receiver: Receiver
  start(fault?: Fault): Promise<RunningProgram>
  /** Moves the clock of later processes ahead by more than the length of a lease. */
  letLeasesEnd(): void
  /** The kinds of a session's durable steps, in their order. */
  stepsOf(session: string): Promise<string[]>
  remove(): Promise<void>
}

/** Creates a bench in a new place of the backend. `hurry`: factor by which the program's waits are shorter. */
export async function createCrashBench(modelBaseUrl: string, backend: Backend, hurry = 1): Promise<CrashBench> {
  const place = await backend.open()
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-crash-'))
  const agents = join(folder, 'agents.json')
  const effects = join(folder, 'effects.txt')
  const trace = join(folder, 'trace.txt')
  const receiver = await openReceiver()
  await writeFile(
    agents,
    JSON.stringify({
      callbacks: callbacksTo(receiver),
      agents: {
        default: { tools: TOOLS },
        brief: { tools: TOOLS, policies: { max_rounds: 2 } },
        leader: { tools: TOOLS, members: ['member', 'mute'] },
        member: { tools: TOOLS },
        mute: { tools: TOOLS, model_options: { timeout_ms: SILENT_MS * backend.slower } },
        first: { tools: TOOLS, members: ['second'] },
        second: { tools: TOOLS, members: ['third'] },
        third: { tools: TOOLS, members: ['fourth'] },
        fourth: { tools: TOOLS },
        summarised: { tools: TOOLS, policies: { consolidation: { threshold: 2, keep_recent_ratio: 0.5 } } },
        citing: { tools: TOOLS, policies: { sources: 'cited' } },
      },
    }),
  )
  await Promise.all([writeFile(effects, ''), writeFile(trace, '')])
  let shift = 0
  return {
    backend,
    place,
    effects,
    receiver,
    start: (fault) =>
      startProgram({
        composition: COMPOSITION,
        env: {
          ...place.env,
          MODEL: 'scripted',
          MODEL_BASE_URL: modelBaseUrl,
          TOOLTRAIL_AGENTS: agents,
          EFFECTS: effects,
          TOOLTRAIL_ALLOWED_HOSTS: receiver.host,
          CLOCK_SHIFT_MS: String(shift),
          TRACE: trace,
          HURRY: String(hurry),
          // A time that is long enough for another input to arrive.
          SLOW_MS: String(SLOW_MS * backend.slower),
          ...(fault === undefined ? {} : { FAULT: JSON.stringify(fault) }),
        },
      }),
    letLeasesEnd() {
      shift += SHIFT_MS
    },
    async stepsOf(session) {
      const lines = (await readFile(trace, 'utf8')).split('\n').map((line) => line.split('\t'))
      return lines.flatMap(([of, kind = '']) => (of === session ? [kind] : []))
    },
    async remove() {
      await receiver.close()
      await place.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Drives a session. Returns whether it reached its end before the program was killed. Throws any other error. */
export async function driveUntilCrash(program: RunningProgram, scenario: Scenario, knows: Knowledge): Promise<boolean> {
  try {
    await scenario.drive(createDurableClient(program.client, knows))
    return true
  } catch (error) {
    if (await isCrash(program, error)) return false
    throw new Error(`${knows.session} failed without a crash; the program says: ${program.log()}`, { cause: error })
  }
}

/**
 * Whether an error reports a connection that broke because the program was killed. A failed expectation is not such an
 * error.
 */
export async function isCrash(program: RunningProgram, error: unknown): Promise<boolean> {
  const isBroken = error instanceof TypeError || (error instanceof Error && error.message === BROKEN_STREAM)
  if (!isBroken) return false
  // A connection breaks shortly before the exit event of the process.
  await Promise.race([program.ended, new Promise((resolve) => setTimeout(resolve, 2_000))])
  return program.hasEnded()
}

/** Drives a session to its end and checks its invariants. */
export async function finishAndCheck(
  bench: CrashBench,
  program: RunningProgram,
  scenario: Scenario,
  knows: Knowledge,
): Promise<void> {
  if (!(await driveUntilCrash(program, scenario, knows)))
    throw new Error(`${knows.session}: the program ended: ${program.log()}`)
  await check(bench, program, scenario, knows)
}

/** Checks the invariants of a session that has ended. */
export async function check(
  bench: CrashBench,
  program: RunningProgram,
  scenario: Scenario,
  knows: Knowledge,
): Promise<void> {
  if (scenario.deletes === true) return expectGone(program.client, knows, bench)
  await expectWhole(program.client, knows, bench)
  if (scenario.reported !== undefined)
    await expectReported(program.client, knows.session, bench.receiver, scenario.reported)
}

/**
 * Runs a scenario repeatedly, each time in a new session. Each run is killed one durable step later than the previous
 * one, until a run ends without a kill. After each kill, the next start continues and checks the session. Returns the
 * number of steps.
 */
export async function crashAtEveryStep(bench: CrashBench, scenario: Scenario, when: Fault['when']): Promise<number> {
  let crashed: Knowledge | undefined
  for (let step = scenario.first ?? 1; ; step += scenario.stride ?? 1) {
    const knows = newKnowledge(`${scenario.name}-${when}-${step}`)
    const program = await bench.start({ session: knows.session, step, when })
    try {
      if (crashed !== undefined) await finishAndCheck(bench, program, scenario, crashed)
      if (await driveUntilCrash(program, scenario, knows)) {
        await check(bench, program, scenario, knows)
        const taken = (await bench.stepsOf(knows.session)).length
        if (step > taken) return taken
        // The step started but never ended, like the step of a cancelled tool. So no kill happened after the step.
        crashed = undefined
      } else crashed = knows
    } finally {
      await program.kill()
      bench.letLeasesEnd()
    }
  }
}

/**
 * Faults that kill the program of one session, one after the other. Each later fault kills the program that continues the
 * session.
 */
export interface Crash {
  readonly scenario: Scenario
  readonly faults: readonly Omit<Fault, 'session'>[]
}

/**
 * Tries the alternative crashes of each wish in order, until all faults of one crash have killed the program. Each crash has a
 * separate session, which the next start of the program continues and checks. Returns the successful crash of each wish;
 * undefined if no crash succeeded.
 */
export async function crashOneByOne(
  bench: CrashBench,
  wishes: readonly (readonly Crash[])[],
): Promise<(Crash | undefined)[]> {
  const taken: (Crash | undefined)[] = []
  let crashed: { readonly scenario: Scenario; readonly knows: Knowledge } | undefined
  /** Returns whether the fault killed the program. The kill may happen while the program starts and resumes pending work. */
  const live = async (
    fault: Fault | undefined,
    work: (program: RunningProgram) => Promise<boolean>,
  ): Promise<boolean> => {
    let program: RunningProgram
    try {
      program = await bench.start(fault)
    } catch (error) {
      if (fault !== undefined && error instanceof EndedEarly && error.signal === 'SIGKILL') return true
      throw error
    } finally {
      bench.letLeasesEnd()
    }
    try {
      if (crashed !== undefined) await finishAndCheck(bench, program, crashed.scenario, crashed.knows)
      crashed = undefined
      return !(await work(program))
    } finally {
      await program.kill()
    }
  }
  const isMet = async ({ scenario, faults }: Crash, name: string): Promise<boolean> => {
    const knows = newKnowledge(name)
    for (const fault of faults) {
      const isKilled = await live({ ...fault, session: knows.session }, async (program) => {
        if (!(await driveUntilCrash(program, scenario, knows))) return false
        // Scheduled work may reach the step a moment later.
        await Promise.race([program.ended, sleep(AFTERWARDS_MS)])
        if (program.hasEnded()) return false
        await check(bench, program, scenario, knows)
        return true
      })
      if (!isKilled) return false
    }
    crashed = { scenario, knows }
    return true
  }
  for (const [place, wish] of wishes.entries()) {
    let met: Crash | undefined
    for (const [attempt, crash] of wish.entries()) {
      if (!(await isMet(crash, `${crash.scenario.name}-crash-${place}-${attempt}`))) continue
      met = crash
      break
    }
    taken.push(met)
  }
  await live(undefined, async () => true)
  return taken
}
