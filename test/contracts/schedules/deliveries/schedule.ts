import fc from 'fast-check'
import { fresh } from '../../session-fixture.ts'
import type { Stores } from '../../stores.ts'
import type { Kind, Outcome } from '../exploration.ts'
import { Violation } from '../harness.ts'
import type { Fate, Processes, ProcessState } from '../processes.ts'
import { accept, execute, remove, startDriver, startSweeper } from './deliverers.ts'
import { checkEnd, look } from './invariants.ts'
import { optionsOf, replace } from './options.ts'
import type { Budget } from './options.ts'
import { setTime } from './world.ts'
import type { DeliveryCode, PostOutcome, World } from './world.ts'

/** A schedule: the pending deliveries, the possible faults, and the process that takes each step. */
interface Schedule {
  readonly kinds: readonly string[]
  readonly outcomes: readonly PostOutcome[]
  readonly deletes: boolean
  readonly budget: Budget
  readonly choices: readonly number[]
}

const DRIVERS = 3
const FAIR_STEPS = 4_000
const START = Date.UTC(2026, 0, 5, 9)

const outcome: fc.Arbitrary<PostOutcome> = fc.constantFrom('done', 'done', 'silent', 'silent', 'ignored', 'busy')

const schedules = (steps: number): fc.Arbitrary<Schedule> =>
  fc.record({
    kinds: fc.array(fc.constantFrom('callback', 'reply'), { minLength: 1, maxLength: 3, size: 'max' }),
    outcomes: fc.array(outcome, { maxLength: 6, size: 'max' }),
    deletes: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    budget: fc.record({
      crash: fc.nat(3),
      claims: fc.nat(3),
      late: fc.nat(3),
      silence: fc.nat(3),
      hints: fc.nat(3),
      lostHints: fc.nat(3),
      back: fc.nat(1),
      stops: fc.nat(2),
    }),
    choices: fc.array(fc.nat(99_999), { minLength: 30, maxLength: steps, size: 'max' }),
  })

/** Kind of schedules whose processes run this delivery code. */
export const deliverySchedules = (code: DeliveryCode): Kind<Schedule> => ({
  schedules,
  run: (stores, processes, schedule) => runSchedule(code, stores, processes, schedule),
})

async function runSchedule(
  code: DeliveryCode,
  stores: Stores,
  processes: Processes,
  schedule: Schedule,
): Promise<Outcome> {
  stores.clock.set(START)
  const world: World = {
    key: { tenant: fresh('t'), session: fresh('s') },
    ...{ stores, processes, code, outcomes: [...schedule.outcomes], silence: undefined },
    ...{ runs: [], ended: new Set(), received: new Map(), thread: new Map(), drivers: new Map(), sleeps: new Set() },
    ...{ rows: new Map(), owners: new Map(), hints: 0, deletion: 'none', ids: new Set(), trace: [] },
    ...{ faults: [], latest: START, requests: new Set() },
  }
  await stores.sessions.create({ ...world.key, agent: 'helper', metadata: {} })
  try {
    for (let n = 0; n < DRIVERS; n++) startDriver(world, `driver ${n}`)
    startSweeper(world, 'sweeper')
    processes.spawn('client', (process) => accept(world, process, schedule.kinds))
    processes.spawn('executor', (process) => execute(world, process))
    if (schedule.deletes) processes.spawn('deleter', (process) => remove(world, process))
    const budget = { ...schedule.budget }
    for (const choice of schedule.choices) {
      const options = optionsOf(world, budget)
      const option = options[choice % options.length]
      if (option === undefined) break
      await option((state, fate) => step(world, state, fate))
    }
    await continueFairly(world)
    return { violation: undefined, trace: world.trace }
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return { violation: error, trace: world.trace }
  } finally {
    for (const state of processes.all) processes.kill(state)
    processes.flights.length = 0
  }
}

/** Resumes one part of a process until it stops before its next step. Then checks the effects. */
async function step(world: World, state: ProcessState, fate: Fate): Promise<void> {
  const { name } = state.root.process
  const [parked] = state.parked
  const how = [fate === 'lands' ? [] : fate, world.silence === undefined ? [] : `no response, ${world.silence}`].flat()
  world.trace.push(`${name}: ${parked?.label ?? ''}${how.length === 0 ? '' : ` (${how.join(', ')})`}`)
  await world.processes.resume(state, fate)
  // Lets the code that awaited this step reach its next step.
  await new Promise((resolve) => setImmediate(resolve))
  if (fate === 'lands late') replace(world, state.root.process.name)
  await look(world, name)
  if (state.failure instanceof Violation) throw state.failure
  if (state.failure !== undefined) {
    const what = state.failure instanceof Error ? state.failure.message : typeof state.failure
    throw new Violation('every error is a refusal', `${name}: ${what}`)
  }
}

/** Ends faults, and all hints except the sweeper's. Time advances only when no process can continue. */
async function continueFairly(world: World): Promise<void> {
  const { processes, stores, trace } = world
  world.hints = 0
  world.outcomes.length = 0
  world.silence = undefined
  trace.push('-- from here on all go on fairly')
  for (const { land, name, sender } of processes.flights.splice(0)) {
    trace.push(`late ${name} of ${sender}`)
    await land().catch(() => undefined)
    await look(world, sender)
  }
  for (let steps = 0; steps < FAIR_STEPS;) {
    const able = [...processes.all].filter(({ parked: [first] }) => first?.enabled() === true)
    for (const state of able) {
      if (state.parked[0]?.enabled() !== true) continue
      await step(world, state, 'lands')
      steps++
    }
    if (able.length > 0) continue
    const dues = [...world.rows.values()].flatMap(({ due }) => due ?? [])
    if (dues.length === 0) return checkEnd(world)
    const times = [...dues, ...[...world.sleeps].map(({ until }) => until)].filter((at) => at > stores.clock.now())
    if (times.length === 0) throw new Violation('no delivery waits for ever', 'no process does the due work')
    setTime(world, Math.min(...times))
    trace.push('time passes')
  }
  throw new Violation('every process ends', `not after ${FAIR_STEPS} steps`)
}
