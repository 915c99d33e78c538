import { Violation } from '../contracts/schedules/world.ts'
import { createClients } from './clients.ts'
import type { Hazard } from './known.ts'
import type { Effects } from './model.ts'
import { checkRest, unrest } from './rest.ts'
import type { ProgramPorts } from './program.ts'
import type { Script } from './script.ts'
import { createServers } from './servers.ts'
import { watchSessions } from './sessions.ts'
import type { Sessions } from './sessions.ts'
import { createMemoryOutputs } from './stores.ts'
import type { SharedStore } from './stores.ts'
import { enterWorld } from './virtual-globals.ts'
import { createWorld, must } from './world.ts'
import type { World } from './world.ts'

/** Within so much virtual time after the last fault everything has come to rest. */
const REST_MS = 20 * 60_000
/** A cancel takes effect in this time where only models and tools misbehave. */
const CANCEL_MS = 3_000
/** And in this time after the last fault: a lease has to end, and a sweep to come. */
const LATE_CANCEL_MS = 130_000

export interface Result {
  readonly violation: Violation | undefined
  readonly steps: number
  readonly trace: readonly string[]
  /** Of the trace: the same for the same script. */
  readonly digest: number
}

export interface Options {
  /** Puts a fault into what every process is built on, to see it found. */
  readonly plant?: (ports: ProgramPorts) => ProgramPorts
  readonly openStore: () => SharedStore | Promise<SharedStore>
  readonly hazards: ReadonlySet<Hazard>
  readonly keepTrace: boolean
}

/** Plays a script to its end, or to the first violation. */
export async function simulate(
  script: Script,
  { openStore, hazards, keepTrace, plant = (ports) => ports }: Options,
): Promise<Result> {
  const world = createWorld(script, keepTrace)
  enterWorld(world)
  const store = await openStore()
  const outputs = createMemoryOutputs()
  const ports = store.portsFor({ now: () => Math.floor(world.timeline.now()), sleep: async () => undefined })
  const effects: Effects = { kinds: new Map(), began: new Map(), ended: new Map() }
  const unheard = (error: unknown): void => world.fail(error)
  process.on('unhandledRejection', unheard)
  let steps = 0
  try {
    const sessions = await watchSessions(world, ports)
    // The program takes what its tools throw for their failure.
    const begun = (token: string, session: string): void => {
      try {
        checkBegun(sessions, effects, token, session)
      } catch (error) {
        world.fail(error)
      }
    }
    const servers = createServers({ world, store, outputs, effects, sessions, begun, plant })
    const clients = createClients(world, servers, sessions)
    for (const server of servers.all) servers.boot(server)
    for (const operation of script.operations)
      world.timeline.after(operation.at, undefined, () => clients.perform(operation))
    for (const fault of script.faults)
      if ('server' in fault) world.timeline.after(fault.at, undefined, () => servers.afflict(fault))
    const isOver = (): boolean =>
      world.elapsed() > script.quietAt &&
      clients.open() === 0 &&
      sessions.all.every((watch) => unrest(watch) === undefined)
    while (!isOver()) {
      if (!(await world.timeline.step(Infinity))) break
      steps++
      await sessions.checkEvents()
      checkTime(world, sessions, clients.open())
      const failure = world.failure()
      if (failure !== undefined) throw failure
    }
    await checkRest({ ports, outputs, effects, sessions, ...strictness(hazards) })
    return { violation: undefined, steps, trace: world.trace, digest: world.digest() }
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    world.note(`broken: ${error.message}`)
    return { violation: error, steps, trace: world.trace, digest: world.digest() }
  } finally {
    process.off('unhandledRejection', unheard)
    enterWorld(undefined)
    store.close()
  }
}

/** Cancels take effect, and everything comes to rest, in their time. */
function checkTime(world: World, { all }: Sessions, open: number): void {
  const { faults, quietAt } = world.script
  const now = world.elapsed()
  const isGentle = faults.every((fault) => fault.type === 'model' || fault.type === 'tool')
  for (const { cancelled, seen, key } of all)
    for (const [runId, at] of cancelled) {
      const until = isGentle ? at + CANCEL_MS : Math.max(at, quietAt) + LATE_CANCEL_MS
      if (now <= until || seen.header?.status !== 'live') continue
      must('a cancel takes effect in its time', seen.header.activeRun !== runId, `${runId} of ${key.session}`)
    }
  if (now <= quietAt + REST_MS) return
  const restless = all.map(unrest).filter((why) => why !== undefined)
  throw new Violation('everything comes to rest', restless.length > 0 ? restless.join(', ') : `${open} open requests`)
}

/** What must hold when a tool begins, before it has any effect. */
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

/** What the log must say of calls that began, which takes the mends of these hazards. */
const strictness = (hazards: ReadonlySet<Hazard>) => ({
  judgesEnded: hazards.has('failed results') || hazards.has('begun calls'),
  judgesBegun: hazards.has('begun calls'),
})
