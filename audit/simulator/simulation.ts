import { Violation } from '../../test/contracts/schedules/harness.ts'
import { createClients } from './actors/clients.ts'
import { createDeliveries } from './actors/deliveries.ts'
import { createEngineSteps } from './world/engine-steps.ts'
import type { Effects } from './model.ts'
import { checkIndex } from './history/check-index.ts'
import { checkRest, unrest } from './rest.ts'
import type { ProgramPorts } from './program.ts'
import type { Fault, Script } from './scripts/script.ts'
import { loadLateModules } from './world/loaded-first.ts'
import { createServers, SWEEPS_MS } from './world/servers.ts'
import { noteWaiting, watchSessions } from './actors/sessions.ts'
import type { Sessions, Watch } from './actors/sessions.ts'
import { createMemoryOutputs } from './world/outputs.ts'
import type { MemoryOutputs } from './world/outputs.ts'
import type { SharedStore } from './world/stores.ts'
import { createStreamedIndex } from './history/streamed-index.ts'
import { enterHarness } from './world/virtual-globals.ts'
import { createHarness, must } from './harness.ts'
import type { Harness } from './harness.ts'

/** After the last fault, all work must end within this virtual time. */
const REST_MS = 20 * 60_000
/** A run that kills each of its holders is given up within this time. In this time, three leases expire. */
const GIVEN_UP_MS = 5 * 60_000
/**
 * A delivery that kills each of its workers is given up within this time. The time includes a second delivery that the
 * first one may add.
 */
const LEFT_MS = 8 * 3_600_000
/** Time limit of a cancel if the script has faults of models and tools only. */
const CANCEL_MS = 3_000
/**
 * Time within which the sweeper finds a session whose hint was lost. The sweeper may first try sessions that cannot be
 * deleted.
 */
const BEHIND_MS = 120_000
/** Faults that stop neither a process nor the store. */
const UNHURTFUL: readonly Fault['type'][] = ['stuck', 'hint', 'model', 'tool']
/** Time limit of a cancel after the last fault. Within it, a lease expires and a sweep follows. */
const LATE_CANCEL_MS = 130_000

export interface Result {
  readonly violation: Violation | undefined
  readonly steps: number
  readonly trace: readonly string[]
  /** Digest of the trace. Equal scripts have equal digests. */
  readonly digest: number
}

export interface Options {
  /** Adds a bug to the ports of every process. Tests use it to show that the simulator detects the bug. */
  readonly plant?: (ports: ProgramPorts) => ProgramPorts
  readonly openStore: (script: Script, outputs: MemoryOutputs) => SharedStore | Promise<SharedStore>
  readonly keepTrace: boolean
}

/** Plays a script to its end, or to the first violation. */
export async function simulate(
  script: Script,
  { openStore, keepTrace, plant = (ports) => ports }: Options,
): Promise<Result> {
  await loadLateModules()
  const harness = createHarness(script, keepTrace)
  enterHarness(harness)
  const outputs = createMemoryOutputs()
  const store = await openStore(script, outputs)
  const ports = store.portsFor({ now: () => Math.floor(harness.timeline.now()), sleep: async () => undefined })
  const effects: Effects = { kinds: new Map(), began: new Map(), ended: new Map() }
  const unheard = (error: unknown): void => harness.fail(error)
  process.on('unhandledRejection', unheard)
  let steps = 0
  try {
    const sessions = await watchSessions(harness, store, ports)
    // A failed check ends the simulation directly. If the tool threw the error, the program would count a failed call.
    const begun = (token: string, session: string): void => {
      try {
        checkBegun(sessions, effects, token, session)
      } catch (error) {
        harness.fail(error)
      }
    }
    const index = store.index ?? createStreamedIndex({ harness, store, outputs, sessions })
    const deliveries = createDeliveries(harness, sessions)
    const engine = store.inSteps === true ? createEngineSteps(harness, sessions) : undefined
    const servers = createServers({
      harness,
      store,
      engine,
      outputs,
      effects,
      sessions,
      index,
      deliveries,
      begun,
      plant,
    })
    const clients = createClients(harness, servers, sessions)
    servers.start()
    for (const operation of script.operations)
      harness.timeline.after(operation.at, undefined, () => clients.perform(operation))
    for (const fault of script.faults)
      if (fault.type === 'sleep') harness.timeline.after(fault.at, undefined, () => sleep(harness, fault.milliseconds))
      else if ('server' in fault) harness.timeline.after(fault.at, undefined, () => servers.afflict(fault))
    const isOver = (): boolean =>
      harness.elapsed() > script.quietAt &&
      clients.open() === 0 &&
      index.isCaughtUp() &&
      deliveries.pending() === undefined &&
      sessions.all.every((watch) => unrest(watch, harness.timeline.now()) === undefined)
    while (!isOver()) {
      if (!(await harness.timeline.step(Infinity))) break
      steps++
      await sessions.checkEvents()
      checkTime(harness, sessions, () =>
        index.isCaughtUp() ? `${clients.open()} open requests, owed: ${deliveries.pending()}` : 'the index',
      )
      checkFairness(harness, sessions)
      const failure = harness.failure()
      if (failure !== undefined) throw failure
    }
    const slept = harness.timeline.slept() > 0
    await checkRest({ ports, outputs, effects, sessions, slept, isGentle: isGentle(script) })
    await deliveries.check(ports)
    await checkIndex(index, sessions, outputs)
    return { violation: undefined, steps, trace: harness.trace, digest: harness.digest() }
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    harness.note(`broken: ${error.message}`)
    return { violation: error, steps, trace: harness.trace, digest: harness.digest() }
  } finally {
    process.off('unhandledRejection', unheard)
    enterHarness(undefined)
    await store.close()
  }
}

function sleep(harness: Harness, milliseconds: number): void {
  harness.note(`everything stands still for ${milliseconds} ms`)
  harness.timeline.sleep(milliseconds)
}

/** Checks that no session with executable work waits behind sessions that are blocked. */
function checkFairness(harness: Harness, { all }: Sessions): void {
  if (!harness.script.faults.every(({ type }) => UNHURTFUL.includes(type))) return
  const [now, elapsed] = [harness.timeline.now(), harness.elapsed()]
  const longest = BEHIND_MS + (harness.script.functions === true ? 2 * SWEEPS_MS : 0)
  for (const watch of all) {
    noteWaiting(watch, now, elapsed)
    const since = Math.max(watch.waitsSince ?? elapsed, harness.hintsLost.get(watch.key.session) ?? 0)
    must('no session waits behind others', elapsed - since < longest, watch.key.session)
  }
}

/**
 * Returns the maximum total time of takeovers if each holder dies. Each run is given up after some time, and each
 * stored completion allows one more takeover.
 */
function takeoversOf({ runs, messages }: Watch['seen']): number {
  const completions = messages.filter(({ role }) => role === 'assistant').length
  return runs.length * GIVEN_UP_MS + completions * LATE_CANCEL_MS
}

/** Whether the script has faults of models and tools only. */
const isGentle = ({ functions = false, faults }: Script): boolean =>
  !functions && faults.every(({ type }) => type === 'model' || type === 'tool')

/** Checks that cancels take effect within their time limit, and that all work ends in time. */
function checkTime(harness: Harness, { all }: Sessions, others: () => string): void {
  const { faults, quietAt, functions = false } = harness.script
  const sweep = functions ? 2 * SWEEPS_MS : 0
  const now = harness.elapsed()
  for (const { cancelled, seen, key } of all)
    for (const [runId, at] of cancelled) {
      const until = isGentle(harness.script)
        ? at + CANCEL_MS
        : Math.max(at, harness.quietSince()) + LATE_CANCEL_MS + sweep
      if (now <= until || seen.header?.status !== 'live') continue
      must('a cancel takes effect in its time', seen.header.activeRun !== runId, `${runId} of ${key.session}`)
    }
  const hasFatal = faults.some((fault) => fault.type === 'poison')
  const taken = hasFatal ? all.map(({ seen }) => takeoversOf(seen)).reduce((one, other) => one + other, 0) : 0
  if (now <= quietAt + REST_MS + taken) return
  const restless = all.map((watch) => unrest(watch, harness.timeline.now())).filter((why) => why !== undefined)
  if (hasFatal && restless.length === 0 && now <= quietAt + REST_MS + taken + LEFT_MS) return
  throw new Violation('everything comes to rest', restless.length > 0 ? restless.join(', ') : others())
}

/** Checks that a tool may start now. Called before the tool has any effect. */
function checkBegun({ all }: Sessions, effects: Effects, token: string, session: string): void {
  const watch = all.find(({ key }) => key.session === session)
  const kind = effects.kinds.get(token)
  must('no call runs twice unless it may', (effects.began.get(token) ?? 0) < 2 || kind === 'read', token)
  must('what is said is what a model has asked for', kind !== undefined, token)
  const isAllowed = watch?.decided.some((decision) => decision.token === token && decision.allow) === true
  must('an approval is for the call that the person saw', kind !== 'ask' || isAllowed, token)
  const isStored = watch?.seen.messages.some(
    (message) =>
      message.role === 'assistant' && message.toolCalls.some((call) => call.arguments.includes(`"${token}"`)),
  )
  must('a call is stored before it runs', isStored === true || watch?.seen.header?.status !== 'live', token)
}
