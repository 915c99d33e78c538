import type { Fate, Flight, ProcessState } from './processes.ts'
import { unlessRefused } from './world.ts'
import type { World } from './world.ts'
import { work } from './worker.ts'

/** How much of each trouble a schedule may still make. */
export interface Budget {
  readonly crash: number
  readonly expiry: number
  /** Writes that land after their sender has given them up, or once more. */
  readonly late: number
  /** Writes whose answer is lost. */
  readonly lost: number
  readonly beats: number
  readonly handOver: number
  /** Jumps of the clock into the past. */
  readonly back: number
  /** Hints without a reason. */
  readonly hints: number
  readonly days: number
}
type Spending = { -readonly [trouble in keyof Budget]: number }

/** Lets a process go on and looks at what it did. */
type Step = (state: ProcessState, fate: Fate) => Promise<void>

export interface Option {
  take(step: Step): Promise<void>
}

const DAY = 86_400_000
const TICK_MS = 7_000
const JUMP_MS = 20 * 60_000
/** How many times as likely an ordinary step is as any one trouble. */
const ORDINARY = 10

/** What can happen next; more likely things stand there more often. */
export function optionsOf(world: World, budget: Spending): readonly Option[] {
  const options: Option[] = []
  for (const state of world.processes.all) {
    const [parked] = state.parked
    if (parked?.enabled() === true) {
      const ordinary: Option = { take: (step) => step(state, 'lands') }
      for (let n = 0; n < ORDINARY; n++) options.push(ordinary)
      if (parked.act !== undefined) options.push(...fatesOf(world, budget, state))
    }
    if (budget.crash > 0 && (state.process.holding !== undefined || state.act !== undefined))
      options.push(trouble(world, budget, 'crash', async () => crash(world, state)))
    if (budget.beats > 0 && state.process.holding !== undefined) options.push(...beatsOf(world, budget, state))
  }
  if (options.length === 0 && world.processes.flights.length === 0) return idlesOf(world)
  for (const flight of world.processes.flights) {
    const landing: Option = { take: (step) => land(world, flight, step) }
    options.push(landing, landing, landing)
  }
  options.push(...timesOf(world, budget))
  if (budget.hints > 0) options.push(trouble(world, budget, 'hints', async () => void world.hints++, false))
  if (budget.handOver > 0)
    options.push(trouble(world, budget, 'handOver', async () => void (world.handOver = true), false))
  return options
}

function trouble(
  world: World,
  budget: Spending,
  name: keyof Budget,
  make: (step: Step) => Promise<void>,
  disturbs = true,
): Option {
  return {
    take: async (step) => {
      budget[name]--
      if (disturbs) world.ghosts.disturbed = true
      await make(step)
    },
  }
}

function fatesOf(world: World, budget: Spending, state: ProcessState): Option[] {
  const options: Option[] = []
  if (budget.lost > 0) options.push(trouble(world, budget, 'lost', (step) => step(state, 'answer lost')))
  if (budget.late > 0) {
    const twice = trouble(world, budget, 'late', (step) => step(state, 'lands twice'))
    const late = trouble(world, budget, 'late', (step) => step(state, 'lands late'))
    options.push(twice, twice, late)
  }
  return options
}

function crash(world: World, state: ProcessState): void {
  world.trace.push(`${state.process.name} crashes`)
  world.processes.kill(state)
  replace(world, state)
}

/** A worker that died has a successor; a client is gone. */
export function replace(world: World, { root }: ProcessState): void {
  const { name } = root.process
  if (name.startsWith('worker')) world.processes.spawn(`${name}'`, (process) => work(world, process))
}

/** A heartbeat now, or one that is sent now and lands later. */
function beatsOf(world: World, budget: Spending, { process }: ProcessState): Option[] {
  const flight = (): Flight => ({
    name: 'heartbeat',
    generation: process.holding?.generation ?? 0,
    sender: process.name,
    land: process.holding?.beat() ?? (() => Promise.resolve()),
  })
  return [
    trouble(world, budget, 'beats', (step) => land(world, flight(), step), false),
    trouble(world, budget, 'beats', async () => {
      world.trace.push(`${process.name} sends a heartbeat that is slow`)
      world.processes.flights.push(flight())
    }),
  ]
}

async function land(world: World, flight: Flight, step: Step): Promise<void> {
  const { flights } = world.processes
  const place = flights.indexOf(flight)
  if (place >= 0) flights.splice(place, 1)
  const late = world.processes.spawn(`late ${flight.name} of ${flight.sender}`, (process) =>
    process
      .write(flight, () => flight.land())
      .then(
        () => {},
        () => {},
      ),
  )
  await step(late, 'lands')
}

/** The process that a late write is: nobody listens to its answer. */
export function arrive(world: World, flight: Flight): ProcessState {
  return world.processes.spawn(`late ${flight.name} of ${flight.sender}`, async (process) => {
    await unlessRefused(process.write(flight, () => flight.land()))
  })
}

/** Nobody can do anything before the session is due again, if ever. */
function idlesOf({ seen: { header }, stores: { clock }, trace }: World): Option[] {
  const { due, lease } = header ?? {}
  if (due === undefined) return []
  const take = async (): Promise<void> => {
    trace.push('time passes until the session is due')
    clock.set(Math.max(clock.now(), due, lease?.until ?? 0) + 1)
  }
  return [{ take }]
}

function timesOf(world: World, budget: Spending): Option[] {
  const { clock } = world.stores
  const pass = (label: string, milliseconds: number) => async (): Promise<void> => {
    world.trace.push(label)
    world.latest = Math.max(world.latest, clock.now())
    clock.advance(milliseconds)
    const until = world.seen.header?.lease?.until
    if (until !== undefined && until < clock.now()) world.ghosts.disturbed = true
  }
  const options: Option[] = [{ take: pass('some seconds pass', TICK_MS) }]
  const until = world.seen.header?.lease?.until
  if (budget.expiry > 0 && until !== undefined && until >= clock.now())
    options.push(trouble(world, budget, 'expiry', pass('the lease ends', until - clock.now() + 1)))
  if (budget.back > 0) options.push(trouble(world, budget, 'back', pass('the clock jumps back', -JUMP_MS)))
  if (budget.days > 0) options.push(trouble(world, budget, 'days', pass('two days pass', 2 * DAY)))
  return options
}
