import type { Fate, Flight, ProcessState } from './processes.ts'
import { unlessRefused } from './harness.ts'
import type { Harness } from './harness.ts'
import { work } from './worker.ts'

/** Remaining number of faults of each kind in a schedule. */
export interface Budget {
  readonly crash: number
  readonly expiry: number
  /** Writes that land after their timeout, or land twice. */
  readonly late: number
  /** Writes whose response is lost. */
  readonly lost: number
  readonly beats: number
  readonly handOff: number
  /** Jumps of the clock into the past. */
  readonly back: number
  /** Hints without a reason. */
  readonly hints: number
  readonly days: number
}
type Spending = { -readonly [trouble in keyof Budget]: number }

/** Lets a process continue and checks its effects. */
type Step = (state: ProcessState, fate: Fate) => Promise<void>

export interface Option {
  take(step: Step): Promise<void>
}

const DAY = 86_400_000
const TICK_MS = 7_000
const JUMP_MS = 20 * 60_000
/** Weight of an ordinary step, relative to one fault. */
const ORDINARY = 10

/** Possible next steps. More likely steps are listed more often. */
export function optionsOf(harness: Harness, budget: Spending): readonly Option[] {
  const options: Option[] = []
  for (const state of harness.processes.all) {
    const [parked] = state.parked
    if (parked?.enabled() === true) {
      const ordinary: Option = { take: (step) => step(state, 'lands') }
      for (let n = 0; n < ORDINARY; n++) options.push(ordinary)
      if (parked.act !== undefined) options.push(...fatesOf(harness, budget, state))
    }
    if (budget.crash > 0 && (state.process.holding !== undefined || state.act !== undefined))
      options.push(trouble(harness, budget, 'crash', async () => crash(harness, state)))
    if (budget.beats > 0 && state.process.holding !== undefined) options.push(...beatsOf(harness, budget, state))
  }
  if (options.length === 0 && harness.processes.flights.length === 0) return idlesOf(harness)
  for (const flight of harness.processes.flights) {
    const landing: Option = { take: (step) => land(harness, flight, step) }
    options.push(landing, landing, landing)
  }
  options.push(...timesOf(harness, budget))
  if (budget.hints > 0) options.push(trouble(harness, budget, 'hints', async () => void harness.hints++, false))
  if (budget.handOff > 0)
    options.push(trouble(harness, budget, 'handOff', async () => void (harness.handOff = true), false))
  return options
}

function trouble(
  harness: Harness,
  budget: Spending,
  name: keyof Budget,
  make: (step: Step) => Promise<void>,
  disturbs = true,
): Option {
  return {
    take: async (step) => {
      budget[name]--
      if (disturbs) harness.ghosts.disturbed = true
      await make(step)
    },
  }
}

function fatesOf(harness: Harness, budget: Spending, state: ProcessState): Option[] {
  const options: Option[] = []
  if (budget.lost > 0) options.push(trouble(harness, budget, 'lost', (step) => step(state, 'response lost')))
  if (budget.late > 0) {
    const twice = trouble(harness, budget, 'late', (step) => step(state, 'lands twice'))
    const late = trouble(harness, budget, 'late', (step) => step(state, 'lands late'))
    options.push(twice, twice, late)
  }
  return options
}

function crash(harness: Harness, state: ProcessState): void {
  harness.trace.push(`${state.process.name} crashes`)
  harness.processes.kill(state)
  replace(harness, state)
}

/** Starts a successor of a dead worker. A dead client has no successor. */
export function replace(harness: Harness, { root }: ProcessState): void {
  const { name } = root.process
  if (name.startsWith('worker')) harness.processes.spawn(`${name}'`, (process) => work(harness, process))
}

/** Options of a holder: a heartbeat that lands now, or one that lands later. */
function beatsOf(harness: Harness, budget: Spending, { process }: ProcessState): Option[] {
  const flight = (): Flight => ({
    name: 'heartbeat',
    generation: process.holding?.generation ?? 0,
    sender: process.name,
    land: process.holding?.beat() ?? (() => Promise.resolve()),
  })
  return [
    trouble(harness, budget, 'beats', (step) => land(harness, flight(), step), false),
    trouble(harness, budget, 'beats', async () => {
      harness.trace.push(`${process.name} sends a heartbeat that is slow`)
      harness.processes.flights.push(flight())
    }),
  ]
}

async function land(harness: Harness, flight: Flight, step: Step): Promise<void> {
  const { flights } = harness.processes
  const place = flights.indexOf(flight)
  if (place >= 0) flights.splice(place, 1)
  const late = harness.processes.spawn(`late ${flight.name} of ${flight.sender}`, (process) =>
    process
      .write(flight, () => flight.land())
      .then(
        () => {},
        () => {},
      ),
  )
  await step(late, 'lands')
}

/** Starts the process that lands a late write. No process awaits the write's response. */
export function arrive(harness: Harness, flight: Flight): ProcessState {
  return harness.processes.spawn(`late ${flight.name} of ${flight.sender}`, async (process) => {
    await unlessRefused(process.write(flight, () => flight.land()))
  })
}

/** Options for an idle session: advance the time until the session is due. Until then, no process can act. */
function idlesOf({ seen: { header }, stores: { clock }, trace }: Harness): Option[] {
  const { due, lease } = header ?? {}
  if (due === undefined) return []
  const take = async (): Promise<void> => {
    trace.push('time passes until the session is due')
    clock.set(Math.max(clock.now(), due, lease?.until ?? 0) + 1)
  }
  return [{ take }]
}

function timesOf(harness: Harness, budget: Spending): Option[] {
  const { clock } = harness.stores
  const pass = (label: string, milliseconds: number) => async (): Promise<void> => {
    harness.trace.push(label)
    harness.latest = Math.max(harness.latest, clock.now())
    clock.advance(milliseconds)
    const until = harness.seen.header?.lease?.until
    if (until !== undefined && until < clock.now()) harness.ghosts.disturbed = true
  }
  const options: Option[] = [{ take: pass('some seconds pass', TICK_MS) }]
  const until = harness.seen.header?.lease?.until
  if (budget.expiry > 0 && until !== undefined && until >= clock.now())
    options.push(trouble(harness, budget, 'expiry', pass('the lease ends', until - clock.now() + 1)))
  if (budget.back > 0) options.push(trouble(harness, budget, 'back', pass('the clock jumps back', -JUMP_MS)))
  if (budget.days > 0) options.push(trouble(harness, budget, 'days', pass('two days pass', 2 * DAY)))
  return options
}
