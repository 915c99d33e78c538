import type { createDeliveryDriver, DeliveryDriver } from '../../../../functions/delivery/driver.ts'
import type { hintDueDeliveries } from '../../../../functions/delivery/due-deliveries.ts'
import type { Delivery } from '../../../../functions/domain/delivery.ts'
import type { SessionKey } from '../../../../functions/domain/session.ts'
import type { Clock } from '../../../../functions/ports/clock.ts'
import type { Logger } from '../../../../functions/ports/logger.ts'
import type { Stores } from '../../stores.ts'
import type { Process, Processes } from '../processes.ts'

/** The delivery code: the program's, or a copy without one guard. */
export interface DeliveryCode {
  readonly createDeliveryDriver: typeof createDeliveryDriver
  readonly hintDueDeliveries: typeof hintDueDeliveries
}

/**
 * Outcome of a request to a channel. `silent`: the request is executed, but its sender gets no response. `ignored`: it
 * is not executed, and its sender gets no response.
 */
export type PostOutcome = 'done' | 'silent' | 'ignored' | 'busy'

/** Whether a write without a response took effect (`after`) or not (`before`). */
export type Silence = 'after' | 'before'

/** One session with pending deliveries, the delivering processes, and the received requests. */
export interface World {
  readonly key: SessionKey
  readonly stores: Stores
  readonly processes: Processes
  readonly code: DeliveryCode
  /** Outcomes of the next requests to channels. Later requests succeed. */
  readonly outcomes: PostOutcome[]
  /** Fault of the next write. */
  silence: Silence | undefined
  /** Ids of the runs that were accepted, in order. */
  readonly runs: string[]
  readonly ended: Set<string>
  /** Bodies that the receiver got, by id. */
  readonly received: Map<string, string[]>
  /** Messages in the thread, by run. */
  readonly thread: Map<string, string[]>
  /** Requests in flight to a channel. */
  readonly requests: Set<() => void>
  /** Drivers of the live processes. */
  readonly drivers: Map<string, DeliveryDriver>
  readonly sleeps: Set<{ readonly until: number }>
  /** The rows after the last step. */
  rows: ReadonlyMap<string, Delivery>
  /** Owner in a claim → name of the process that made this claim. */
  readonly owners: Map<string, string>
  hints: number
  deletion: 'none' | 'begun' | 'done'
  /** Violations that channels found. */
  readonly faults: string[]
  /** The latest time that the clock has shown. */
  latest: number
  /** All ids that rows have had. */
  readonly ids: Set<string>
  readonly trace: string[]
}

export const silentLogger: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Executes `body` as a part of the process `parent`. The part stops and dies with `parent`. */
export function part<T>({ processes }: World, parent: Process, body: (process: Process) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    processes.spawn(parent.name, (process) => body(process).then(resolve, reject), parent)
  })
}

/** Wraps a port so that each call is a separate step. The schedule decides the outcome of each write. */
export function inSteps<Port extends object>(
  world: World,
  parent: Process,
  port: Port,
  writes: readonly (keyof Port & string)[],
): Port {
  type Call = (...args: unknown[]) => Promise<unknown>
  const calls = Object.entries(port).map(([name, call]: [string, Call]): [string, Call] => {
    const isWrite = (writes as readonly string[]).includes(name)
    return [
      name,
      (...args) =>
        part(world, parent, async (process) => {
          const label = labelOf(name, args)
          if (isWrite) return process.write({ name: label }, () => answered(world, () => call(...args)))
          await process.at(label)
          return call(...args)
        }),
    ]
  })
  return Object.fromEntries(calls) as Port
}

/** Label of a call: its name, and the end of the delivery's id. */
function labelOf(name: string, [first]: readonly unknown[]): string {
  const { id } = { id: '', ...(first as { readonly id?: string }) }
  return id === '' ? name : `${name} ${id.slice(20)}`
}

async function answered<T>(world: World, send: () => Promise<T>): Promise<T> {
  const { silence } = world
  world.silence = undefined
  if (silence === 'before') throw new Error('no response')
  const result = await send()
  if (silence === 'after') throw new Error('no response')
  return result
}

/** The clock of a process. The schedule ends each sleep when the sleep's time is over, or later. */
export function clockOf(world: World, parent: Process): Clock {
  const { clock } = world.stores
  return {
    now: () => clock.now(),
    sleep(milliseconds, signal) {
      const sleep = { until: clock.now() + milliseconds }
      return part(world, parent, async (process) => {
        world.sleeps.add(sleep)
        await process.at('wakes', () => clock.now() >= sleep.until || signal?.aborted === true)
        world.sleeps.delete(sleep)
        signal?.throwIfAborted()
      })
    },
  }
}

/** Sets the clock. Before that, every request in flight arrives. */
export function setTime(world: World, milliseconds: number): void {
  for (const arrive of world.requests) arrive()
  world.stores.clock.set(milliseconds)
}
