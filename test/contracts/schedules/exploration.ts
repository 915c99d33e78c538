import fc from 'fast-check'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { Engine } from '../stores.ts'
import type { Stores } from '../stores.ts'
import type { Violation } from './harness.ts'
import { createProcesses } from './processes.ts'
import type { Processes } from './processes.ts'

export interface Outcome {
  readonly violation: Violation | undefined
  /** Executed steps, in order. */
  readonly trace: readonly string[]
}

/** A kind of schedules: generates schedules of up to `steps` chosen steps, and runs a schedule. */
export interface Kind<Schedule> {
  schedules(steps: number): fc.Arbitrary<Schedule>
  run(stores: Stores, processes: Processes, schedule: Schedule): Promise<Outcome>
}

export interface Exploration {
  readonly seed: number
  /** Number of executed schedules, except those that only shrink a failing schedule. */
  readonly schedules: number
  readonly steps: number
  readonly failure?: {
    readonly rule: string
    readonly message: string
    /** Options that repeat the schedule: `--seed <seed> --path <path>`. */
    readonly path: string
    readonly trace: readonly string[]
    readonly schedule: unknown
  }
}

export interface Options {
  readonly schedules: number
  /** Time limit in milliseconds, after which no schedule starts. The limit applies once `least` schedules have run. */
  readonly budgetMs?: number
  readonly least?: number
  readonly seed: number
  /** Maximum number of steps that a schedule chooses. */
  readonly steps: number
  readonly path?: string
  /** Whether to search for a smaller failing schedule. */
  readonly shrink: boolean
}

/** Runs generated schedules on one engine until one breaks a promise or all have been run. */
export async function explore<Schedule>(engine: Engine, kind: Kind<Schedule>, options: Options): Promise<Exploration> {
  const processes = createProcesses()
  const stores = await engine.open({ between: processes.between })
  let last: Outcome = { violation: undefined, trace: [] }
  const end = performance.now() + (options.budgetMs ?? Infinity)
  let [ran, steps] = [0, 0]
  const property = fc.asyncProperty(kind.schedules(options.steps), async (schedule) => {
    if (ran >= (options.least ?? 0) && performance.now() > end) return
    const outcome = await kind.run(stores, processes, schedule)
    ran += 1
    steps += outcome.trace.length
    if (outcome.violation === undefined) return
    last = outcome
    throw outcome.violation
  })
  try {
    const details = await fc.check(property, {
      seed: options.seed,
      numRuns: options.schedules,
      endOnFailure: !options.shrink,
      ...definedFields({ path: options.path }),
    })
    const done = { seed: details.seed, schedules: options.shrink ? details.numRuns : ran, steps }
    if (!details.failed) return done
    const [schedule] = details.counterexample ?? []
    if (schedule === undefined || last.violation === undefined) throw details.errorInstance
    const shortest = options.shrink ? await kind.run(stores, processes, schedule) : last
    const { rule, message } = shortest.violation ?? last.violation
    return {
      ...done,
      failure: { rule, message, path: details.counterexamplePath ?? '', trace: shortest.trace, schedule },
    }
  } finally {
    await stores.close()
  }
}
