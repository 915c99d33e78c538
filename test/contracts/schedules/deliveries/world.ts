import type { createDeliveryDriver, DeliveryDriver } from '../../../../functions/delivery/driver.ts'
import type { hintDueDeliveries } from '../../../../functions/delivery/due-deliveries.ts'
import type { Delivery } from '../../../../functions/domain/delivery.ts'
import type { SessionKey } from '../../../../functions/domain/session.ts'
import type { Clock } from '../../../../functions/ports/clock.ts'
import type { Logger } from '../../../../functions/ports/logger.ts'
import type { Stores } from '../../stores.ts'
import type { Process, Processes } from '../processes.ts'

/** What delivers, as the program has it, or with one guard taken out. */
export interface DeliveryCode {
  readonly createDeliveryDriver: typeof createDeliveryDriver
  readonly hintDueDeliveries: typeof hintDueDeliveries
}

/** What comes of a request to a channel: nobody knows after `silent`, which was done, and `ignored`, which was not. */
export type PostOutcome = 'done' | 'silent' | 'ignored' | 'busy'

/** What comes of a write whose response does not come: it was done, or it was not. */
export type Silence = 'after' | 'before'

/** One session whose runs owe deliveries, the processes that deliver, and what has arrived outside. */
export interface World {
  readonly key: SessionKey
  readonly stores: Stores
  readonly processes: Processes
  readonly code: DeliveryCode
  /** Of the next requests to channels; later ones are done. */
  readonly outcomes: PostOutcome[]
  /** What the next write meets. */
  silence: Silence | undefined
  /** Ids of the runs that were accepted, in order. */
  readonly runs: string[]
  readonly ended: Set<string>
  /** Of each id, the bodies that its receiver got. */
  readonly received: Map<string, string[]>
  /** Of each run, its messages in the thread. */
  readonly thread: Map<string, string[]>
  /** Those that are under way to a channel. */
  readonly requests: Set<() => void>
  /** Those of the processes that live. */
  readonly drivers: Map<string, DeliveryDriver>
  readonly sleeps: Set<{ readonly until: number }>
  /** The rows after the last step. */
  rows: ReadonlyMap<string, Delivery>
  /** Which process has claimed a row under this name. */
  readonly owners: Map<string, string>
  hints: number
  deletion: 'none' | 'begun' | 'done'
  /** What channels have met that must not be. */
  readonly faults: string[]
  /** The latest time that the clock has shown. */
  latest: number
  /** All ids that rows have had. */
  readonly ids: Set<string>
  readonly trace: string[]
}

export const silentLogger: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Does something as a part of `parent`, which stops and dies with it. */
export function part<T>({ processes }: World, parent: Process, body: (process: Process) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    processes.spawn(parent.name, (process) => body(process).then(resolve, reject), parent)
  })
}

/** A port whose every call is a step of its own. Writes meet what the schedule has for them. */
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

/** The call and the delivery that it is about, by the end of its id. */
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

/** The clock of a process: whoever sleeps goes on when the schedule lets it, not before its time. */
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

/** Time passes, in which every request under way arrives. */
export function setTime(world: World, milliseconds: number): void {
  for (const arrive of world.requests) arrive()
  world.stores.clock.set(milliseconds)
}
