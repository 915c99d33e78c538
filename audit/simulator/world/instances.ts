import { Violation } from '../../../test/contracts/schedules/harness.ts'
import type { Harness, Affliction } from '../harness.ts'
import type { Program } from '../program.ts'
import { createProcess } from './timeline.ts'
import type { Process } from './timeline.ts'

/** Maximum duration of an invocation. The platform ends a process that exceeds it. */
export const FUNCTION_MS = 90_000
/** Maximum number of concurrent instances. Further invocations are throttled, and their callers must retry. */
const MAX_INSTANCES = 20

interface Instance {
  readonly process: Process
  readonly program: Program
  /** Called when the instance dies. Set while an invocation runs in the instance. */
  died?: (() => void) | undefined
}

/**
 * The instances of a function. Each instance executes one invocation at a time. Between invocations, it is frozen
 * together with its unfinished work.
 */
export interface Instances {
  /** Executes `work` in a free instance, or in a new one. Resolves when the invocation is over. */
  invoke(hops: number, work: (program: Program) => Promise<unknown>): Promise<void>
  /** The processes that exist now, including frozen ones. */
  processes(): readonly Process[]
  afflict(process: Process, fault: Affliction): void
}

export function createInstances(harness: Harness, create: (process: Process) => Program): Instances {
  const { timeline } = harness
  let all: Instance[] = []
  let boots = 0

  function boot(): Instance {
    const process = createProcess(`f${++boots}`)
    const instance: Instance = { process, program: create(process) }
    harness.note(`${process.name} starts`)
    all.push(instance)
    return instance
  }

  function end(instance: Instance, leavesRequests: boolean): void {
    instance.process.leavesRequests = leavesRequests
    timeline.kill(instance.process)
    harness.note(`${instance.process.name} is dead`)
    all = all.filter((one) => one !== instance)
    instance.died?.()
  }

  return {
    invoke: (hops, work) =>
      new Promise((resolve, reject) => {
        const free = all.find(({ died }) => died === undefined)
        if (free === undefined && all.length >= MAX_INSTANCES) return reject(new Error('throttled'))
        const instance = free ?? boot()
        const over = timeline.after(FUNCTION_MS, undefined, () => end(instance, true))
        instance.died = () => {
          over.cancelled = true
          reject(new Error('the function died'))
        }
        const freeze = (settle: () => void): void => {
          timeline.after(0, undefined, () => {
            if (instance.process.state === 'dead') return
            if (instance.process.calls > 0)
              harness.fail(new Violation('no function is frozen while a call executes', instance.process.name))
            over.cancelled = true
            instance.died = undefined
            timeline.stop(instance.process)
            settle()
          })
        }
        timeline.resume(instance.process)
        timeline.after(0, instance.process, () => {
          instance.program
            .invoke(hops, FUNCTION_MS, () => work(instance.program))
            .then(
              () => freeze(resolve),
              (error: unknown) => freeze(() => reject(error as Error)),
            )
        })
      }),
    processes: () => all.map(({ process }) => process),
    afflict(process, { how, milliseconds, leavesRequests }) {
      const instance = all.find((one) => one.process === process)
      // The platform requests a function to stop only when the function's time ends.
      if (instance?.died === undefined || how === 'restart') return
      if (how === 'kill') return end(instance, leavesRequests)
      timeline.stop(process)
      harness.note(`${process.name} stands still for ${milliseconds} ms`)
      timeline.after(milliseconds, undefined, () => timeline.resume(process))
    },
  }
}
