import fc from 'fast-check'
import { fresh } from '../session-fixture.ts'
import { snapshot } from '../snapshot.ts'
import type { Stores } from '../stores.ts'
import type { Kind, Outcome } from './exploration.ts'
import { resolve, cancel, expire, post, remove, rename } from './clients.ts'
import type { Cancel, Input } from './clients.ts'
import { checkEnd, checkGone, checkStep } from './invariants.ts'
import { arrive, optionsOf, replace } from './options.ts'
import type { Budget } from './options.ts'
import type { Act, Fate, Processes, ProcessState } from './processes.ts'
import { isDue, Violation } from './harness.ts'
import type { CallKind, Harness, Plan } from './harness.ts'
import { work } from './worker.ts'

/** A schedule: its processes, the possible faults, and the process that takes each step. */
export interface Schedule {
  readonly inputs: readonly Input[]
  readonly cancels: readonly Cancel[]
  readonly resolutions: readonly { readonly text: string; readonly all: boolean; readonly tries: number }[]
  readonly deletes: boolean
  readonly expires: boolean
  readonly budget: Budget
  readonly choices: readonly number[]
}

const WORKERS = 3
const FAIR_STEPS = 4000
/** Depth of nested delegations. */
const DEPTH = 3
const START = Date.UTC(2026, 0, 5, 9)

const kind: fc.Arbitrary<CallKind> = fc.constantFrom(
  'tool',
  'tool',
  'idempotent',
  'client',
  'client',
  'approval',
  'approval',
)
const fails = fc.integer({ min: 0, max: 7 }).map((n) => n === 0)

/** Plan of a model whose members delegate at most `depth` levels deep. */
function plan(depth: number): fc.Arbitrary<Plan> {
  const calls = fc.array(kind, { minLength: 1, maxLength: 3, size: 'max' })
  if (depth === 0) return fc.record({ rounds: fc.array(calls, { maxLength: 2, size: 'max' }), fails })
  const given = fc.record({ team: plan(depth - 1) })
  const team = fc
    .tuple(fc.array(given, { minLength: 1, maxLength: 2, size: 'max' }), fc.array(kind, { maxLength: 1, size: 'max' }))
    .map(([members, own]) => [...members, ...own])
  const round = fc.oneof({ weight: 3, arbitrary: calls }, { weight: 1, arbitrary: team })
  return fc.record({ rounds: fc.array(round, { maxLength: 2, size: 'max' }), fails })
}

const input: fc.Arbitrary<Input> = fc.record({
  client: fc.nat(1),
  onBusy: fc.constantFrom('queue', 'queue', 'steer', 'reject'),
  plan: plan(DEPTH),
  here: fc.boolean(),
  again: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})
const stop: fc.Arbitrary<Cancel> = fc.record({
  input: fc.nat(4),
  when: fc.constantFrom('accepted', 'running', 'paused', 'paused'),
})
const rarely = fc.integer({ min: 0, max: 9 }).map((n) => n === 0)
const calm: Budget = { crash: 0, expiry: 0, late: 0, lost: 0, beats: 0, handOff: 0, back: 0, hints: 0, days: 0 }

/** Schedules of up to `steps` chosen steps, followed by a fair phase. */
const schedules = (steps: number): fc.Arbitrary<Schedule> =>
  fc.record({
    inputs: fc.array(input, { minLength: 1, maxLength: 5, size: 'max' }),
    cancels: fc.array(stop, { maxLength: 3, size: 'max' }),
    resolutions: fc.array(
      fc.record({
        text: fc.constantFrom('yes', 'yes', 'no', 'other'),
        all: fc.boolean(),
        tries: fc.integer({ min: 1, max: 4 }),
      }),
      { maxLength: 2, size: 'max' },
    ),
    deletes: rarely,
    expires: rarely,
    budget: fc.oneof(
      { weight: 1, arbitrary: fc.constant(calm) },
      {
        weight: 4,
        arbitrary: fc.record({
          crash: fc.nat(3),
          expiry: fc.nat(3),
          late: fc.nat(5),
          lost: fc.nat(2),
          beats: fc.nat(3),
          handOff: fc.nat(2),
          back: fc.nat(1),
          hints: fc.nat(2),
          days: fc.nat(2),
        }),
      },
    ),
    choices: fc.array(fc.nat(99_999), { minLength: 30, maxLength: steps, size: 'max' }),
  })

/** Schedules of one session: its clients, holders, members and sweeper. */
export const SESSION_SCHEDULES: Kind<Schedule> = {
  schedules,
  run: (stores, processes, schedule) => runSchedule(stores, processes, schedule),
}

/**
 * Runs a schedule on a fresh session, checking every step; then lets each process continue fairly until no work is left. `join`
 * may add processes to those of the schedule.
 */
export async function runSchedule(
  stores: Stores,
  processes: Processes,
  schedule: Schedule,
  join: (harness: Harness) => void = () => undefined,
): Promise<Outcome> {
  stores.clock.set(START)
  const key = { tenant: fresh('t'), session: fresh('s') }
  await stores.sessions.create({ ...key, agent: 'helper', metadata: {}, ...(schedule.expires ? { ttlDays: 1 } : {}) })
  const seen = await snapshot(stores, key)
  const harness: Harness = {
    key,
    stores,
    processes,
    ghosts: {
      accepted: new Map(),
      sent: [],
      cancelled: new Set(),
      starts: new Map(),
      readGeneration: 0,
      disturbed: false,
      deleted: false,
    },
    seen,
    lastLive: seen,
    hints: 0,
    handOff: false,
    fair: false,
    latest: START,
    trace: [],
  }
  try {
    populate(harness, schedule)
    join(harness)
    const budget = { ...schedule.budget, days: schedule.expires ? schedule.budget.days : 0 }
    for (const choice of schedule.choices) {
      const options = optionsOf(harness, budget)
      const option = options[choice % options.length]
      if (option === undefined) break
      await option.take((state, fate) => step(harness, state, fate))
    }
    await continueFairly(harness)
    return { violation: undefined, trace: harness.trace }
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return { violation: error, trace: harness.trace }
  } finally {
    for (const state of processes.all) processes.kill(state)
    processes.flights.length = 0
  }
}

function populate(harness: Harness, { inputs, resolutions, cancels, deletes, expires }: Schedule): void {
  const { processes } = harness
  const numbered = inputs.map((one, number) => ({ ...one, number }))
  for (const client of [0, 1])
    processes.spawn(`client ${client}`, (process) =>
      post(
        harness,
        process,
        numbered.filter((one) => one.client === client),
      ),
    )
  for (const [n, { text, all, tries }] of resolutions.entries())
    processes.spawn(`resolver ${'+'.repeat(n)}`, (process) => resolve(harness, process, text, all, tries))
  for (const one of cancels)
    if (one.input < inputs.length)
      processes.spawn(`canceller of ${one.input}`, (process) => cancel(harness, process, one))
  if (deletes) processes.spawn('deleter', (process) => remove(harness, process))
  if (expires) processes.spawn('expirer', (process) => expire(harness, process))
  processes.spawn('renamer', (process) => rename(harness, process))
  for (let n = 0; n < WORKERS; n++) processes.spawn(`worker ${n}`, (process) => work(harness, process))
}

/** Lets one process take its next step, then checks the effects. */
async function step(harness: Harness, state: ProcessState, fate: Fate): Promise<void> {
  const [parked] = state.parked
  harness.trace.push(`${state.process.name}: ${parked?.label ?? ''}${fate === 'lands' ? '' : ` (${fate})`}`)
  const act = parked?.act ?? state.act
  await harness.processes.resume(state, fate)
  if (fate === 'lands late') replace(harness, state)
  // If no write has happened, the state is unchanged.
  if (act !== undefined && harness.processes.mayHaveWritten()) await look(harness, act)
  if (state.failure instanceof Violation) throw state.failure
  if (state.failure !== undefined) {
    const what = state.failure instanceof Error ? state.failure.message : typeof state.failure
    throw new Violation('every error is a refusal', `${state.process.name}: ${what}`)
  }
}

/** Reads the stored state, checks it against the state before the step, and remembers it. */
async function look(harness: Harness, act: Act | undefined): Promise<void> {
  const { clock, janitor } = harness.stores
  const now = await snapshot(harness.stores, harness.key)
  checkStep(harness, harness.seen, now, act)
  harness.seen = now
  if (now.header?.status === 'live') harness.lastLive = now
  const listed = (await janitor.due(clock.now(), 10_000)).some(({ key }) => key.session === harness.key.session)
  if (listed !== isDue(harness)) throw new Violation('the sweeper finds exactly what is due')
}

/** Ends faults and hints, and lets all processes take steps in turn. Time advances only when no process can continue. */
async function continueFairly(harness: Harness): Promise<void> {
  const { processes, stores } = harness
  harness.fair = true
  harness.hints = 0
  harness.trace.push('-- from here on all go on fairly')
  for (const flight of processes.flights.splice(0)) {
    const state = arrive(harness, flight)
    while (!state.done) await step(harness, state, 'lands')
  }
  processes.spawn('patient', (process) => resolve(harness, process, 'yes', false, Infinity))
  for (let steps = 0; steps < FAIR_STEPS;) {
    const able = [...processes.all].filter(({ parked: [first] }) => first?.enabled() === true)
    for (const state of able) {
      if (state.parked[0]?.enabled() !== true) continue
      await step(harness, state, 'lands')
      steps++
    }
    if (able.length > 0) continue
    const { due, lease } = harness.seen.header ?? {}
    if (due === undefined) return finish(harness)
    stores.clock.set(Math.max(stores.clock.now(), due, lease?.until ?? 0) + 1)
  }
  throw new Violation('every process ends', `not after ${FAIR_STEPS} steps`)
}

async function finish(harness: Harness): Promise<void> {
  if (harness.seen.header?.status === 'deleted') await checkGone(harness)
  else checkEnd(harness, harness.seen)
}
