import { AsyncLocalStorage } from 'node:async_hooks'

/** A process of the simulation. Its state is in its promises and timers. */
export interface Process {
  readonly name: string
  /** Milliseconds by which the process's clock is ahead of the simulation's time. */
  skew: number
  state: 'running' | 'stopped' | 'dead'
  /** Events that were due while the process was stopped. */
  readonly missed: Happening[]
  /** Whether requests that the process sent before its death still reach the store. */
  leavesRequests: boolean
  /** Number of tools that the process is executing now. */
  calls: number
}

export interface Happening {
  at: number
  readonly place: number
  /** The process to which the event's code belongs. Absent for code of the simulation itself. */
  readonly owner?: Process | undefined
  readonly run: () => unknown
  cancelled: boolean
}

/** The process whose code runs now. Undefined for code of the store, of clients, and of the simulator itself. */
export const current = new AsyncLocalStorage<Process>()

/** The virtual time, and the events that are scheduled in it. */
export interface Timeline {
  /** The current virtual time in milliseconds since 1970, with fractions. */
  now(): number
  after(milliseconds: number, owner: Process | undefined, run: () => unknown): Happening
  /** Delays all scheduled events by `milliseconds`, as if the machine slept. */
  sleep(milliseconds: number): void
  /** Total milliseconds of `sleep` so far. */
  slept(): number
  /** Keeps the current step open until the work has settled. No virtual time passes. */
  hold(work: Promise<void>): Promise<void>
  /**
   * Executes the next event, and all code that follows before virtual time passes. Returns false if no event is left
   * before `end`.
   */
  step(end: number): Promise<boolean>
  stop(process: Process): void
  resume(process: Process): void
  kill(process: Process): void
}

/**
 * The real `setImmediate`, saved before it is replaced. When its callback runs, all promises that can settle have
 * settled.
 */
const nextTick = setImmediate

export function createTimeline(start: number): Timeline {
  const queue: Happening[] = []
  let time = start
  let places = 0
  let slept = 0
  const held = new Set<Promise<void>>()

  function add(at: number, owner: Process | undefined, run: () => unknown): Happening {
    const happening = { at, place: places++, owner, run, cancelled: false }
    push(queue, happening)
    return happening
  }

  async function happen({ owner, run }: Happening): Promise<void> {
    if (owner === undefined) await run()
    else current.run(owner, run)
    await new Promise((resolve) => nextTick(resolve))
    while (held.size > 0) {
      await Promise.all(held)
      await new Promise((resolve) => nextTick(resolve))
    }
  }

  return {
    now: () => time,
    slept: () => slept,
    sleep(milliseconds) {
      time += milliseconds
      slept += milliseconds
      // All times change by an equal amount, so the order of the heap stays correct.
      for (const happening of queue) happening.at += milliseconds
    },
    after: (milliseconds, owner, run) => add(time + milliseconds, owner, run),
    hold(work) {
      held.add(work)
      return work.finally(() => held.delete(work))
    },
    async step(end) {
      for (let next = queue[0]; next !== undefined && next.at <= end; next = queue[0]) {
        pop(queue)
        if (next.cancelled || next.owner?.state === 'dead') continue
        if (next.owner?.state === 'stopped') {
          next.owner.missed.push(next)
          continue
        }
        time = Math.max(time, next.at)
        await happen(next)
        return true
      }
      return false
    },
    stop(process) {
      if (process.state === 'running') process.state = 'stopped'
    },
    resume(process) {
      if (process.state !== 'stopped') return
      process.state = 'running'
      for (const missed of process.missed.splice(0)) if (!missed.cancelled) push(queue, missed)
    },
    kill: (process) => void (process.state = 'dead'),
  }
}

export const createProcess = (name: string): Process => ({
  name,
  skew: 0,
  state: 'running',
  missed: [],
  leavesRequests: true,
  calls: 0,
})

const isBefore = (left: Happening, right: Happening): boolean =>
  left.at < right.at || (left.at === right.at && left.place < right.place)

/** Inserts an event into a binary heap. The earliest event has index 0. */
function push(heap: Happening[], happening: Happening): void {
  let at = heap.push(happening) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent]
    if (above === undefined || !isBefore(happening, above)) break
    heap[at] = above
    at = parent
  }
  heap[at] = happening
}

function pop(heap: Happening[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]]
    const isRight = left !== undefined && right !== undefined && isBefore(right, left)
    const child = isRight ? right : left
    if (child === undefined || !isBefore(child, last)) break
    heap[at] = child
    at = 2 * at + (isRight ? 2 : 1)
  }
  heap[at] = last
}
