import type { Fate, ProcessState } from '../processes.ts'
import { startDriver, startSweeper } from './deliverers.ts'
import { look } from './invariants.ts'
import { setTime } from './world.ts'
import type { Silence, World } from './world.ts'

/** Remaining number of faults of each kind in a schedule. */
export interface Budget {
  /** Crashes of processes, at any step. */
  readonly crash: number
  /** Waits that last longer than a claim. */
  readonly claims: number
  /** Writes that land after the death of their sender, or land twice. */
  readonly late: number
  /** Writes without a response. */
  readonly silence: number
  /** Hints without a reason. */
  readonly hints: number
  readonly lostHints: number
  /** Jumps of the clock into the past. */
  readonly back: number
  /** Graceful stops of processes. */
  readonly stops: number
}
type Spending = { -readonly [trouble in keyof Budget]: number }

type Step = (state: ProcessState, fate: Fate) => Promise<void>
export type Option = (step: Step) => Promise<void>

const TICK_MS = 7_000
const CLAIM_MS = 61_000
const JUMP_MS = 20 * 60_000
/** Weight of an ordinary step, relative to one fault. */
const ORDINARY = 6
/** Label of the arrival of a request. It has a lower weight, because requests take longer than other steps. */
const REQUEST = 'the request arrives'

/** Possible next steps. More likely steps are listed more often. */
export function optionsOf(world: World, budget: Spending): readonly Option[] {
  const { processes } = world
  const options: Option[] = []
  for (const state of processes.all) {
    const [parked] = state.parked
    if (parked?.enabled() !== true) continue
    const ordinary: Option = (step) => step(state, 'lands')
    const weight = parked.label.startsWith(REQUEST) ? 1 : ORDINARY
    for (let n = 0; n < weight; n++) options.push(ordinary)
    if (parked.act !== undefined) options.push(...fatesOf(world, budget, state))
    if (budget.crash > 0 && isMortal(state)) options.push(spending(budget, 'crash', async () => crash(world, state)))
  }
  if (budget.stops > 0)
    for (const name of world.drivers.keys()) options.push(spending(budget, 'stops', async () => stop(world, name)))
  for (const flight of processes.flights) options.push(async () => land(world, flight))
  options.push(async () => pass(world, 'some seconds pass', TICK_MS))
  if (budget.claims > 0) options.push(spending(budget, 'claims', async () => pass(world, 'claims end', CLAIM_MS)))
  if (budget.back > 0) options.push(spending(budget, 'back', async () => pass(world, 'the clock jumps back', -JUMP_MS)))
  if (budget.hints > 0) options.push(spending(budget, 'hints', async () => void world.hints++))
  if (budget.lostHints > 0 && world.hints > 0)
    options.push(spending(budget, 'lostHints', async () => void world.hints--))
  return options
}

const spending =
  (budget: Spending, name: keyof Budget, make: Option): Option =>
  async (step) => {
    budget[name]--
    await make(step)
  }

function fatesOf(world: World, budget: Spending, state: ProcessState): Option[] {
  const options: Option[] = []
  const silent = (when: Silence): Option =>
    spending(budget, 'silence', (step) => {
      world.silence = when
      return step(state, 'lands')
    })
  if (budget.silence > 0) options.push(silent('before'), silent('after'))
  if (budget.late > 0)
    for (const fate of ['lands twice', 'lands late'] as const)
      options.push(spending(budget, 'late', (step) => step(state, fate)))
  return options
}

const isMortal = ({ root }: ProcessState): boolean => /^(driver|sweeper)/.test(root.process.name)

function crash(world: World, state: ProcessState): void {
  const { name } = state.root.process
  world.trace.push(`${name} crashes`)
  world.processes.kill(state)
  replace(world, name)
}

/** Stops a process gracefully: it starts no further work, and a new process joins. Other processes continue. */
function stop(world: World, name: string): void {
  world.trace.push(`${name} is told to stop`)
  const driver = world.drivers.get(name)
  // If the hand-off of a delivery was not stored, a sweeper finds the delivery when it is due.
  driver?.handOff().then(
    () => world.hints++,
    () => undefined,
  )
  replace(world, name)
}

/** Replaces a dead process by a new one without its state. */
export function replace(world: World, name: string): void {
  world.drivers.delete(name)
  if (name.startsWith('sweeper')) startSweeper(world, `${name}'`)
  else startDriver(world, `${name}'`)
}

async function land(world: World, flight: World['processes']['flights'][number]): Promise<void> {
  const { flights } = world.processes
  flights.splice(flights.indexOf(flight), 1)
  world.trace.push(`late ${flight.name} of ${flight.sender}`)
  await flight.land().catch(() => undefined)
  await look(world, flight.sender)
}

function pass(world: World, label: string, milliseconds: number): void {
  world.trace.push(label)
  setTime(world, world.stores.clock.now() + milliseconds)
}
