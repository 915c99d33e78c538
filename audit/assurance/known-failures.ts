import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** File with the last states of the known failures. `npm run assurance` reads this file. */
export const KNOWN_FAILURES_FILE = '.assurance/known-failures.json'

export interface KnownFailure {
  /** Name of the test file that states the expected behaviour. */
  readonly name: string
  readonly state: 'still fails' | 'holds now' | 'holds in part' | 'its control fails' | 'needs an engine'
  /** Names of the tests whose outcome has changed. */
  readonly changed: readonly string[]
}

/** Outcome of one test: the fields from which the state of a file is computed. */
export interface Outcome {
  readonly name: string
  /** Whether the test is marked `test.fails`. */
  readonly isKnown: boolean
  /** Whether the outcome is the expected one: a known failure fails, and a control passes. */
  readonly isAsBefore: boolean
}

/**
 * Computes the state of one file from the outcomes of its tests. If the file cannot be loaded, `errors` has the error,
 * and `outcomes` is empty.
 */
export function stateOf(
  name: string,
  outcomes: readonly Outcome[],
  errors: readonly string[],
  isSkipped: boolean,
): KnownFailure {
  const controls = outcomes.filter(({ isKnown, isAsBefore }) => !isKnown && !isAsBefore)
  if (errors.length + controls.length > 0)
    return { name, state: 'its control fails', changed: [...errors, ...controls.map((one) => one.name)] }
  const known = outcomes.filter(({ isKnown }) => isKnown)
  if (isSkipped || known.length === 0) return { name, state: 'needs an engine', changed: [] }
  const holding = known.filter(({ isAsBefore }) => !isAsBefore).map((one) => one.name)
  if (holding.length === 0) return { name, state: 'still fails', changed: [] }
  return { name, state: holding.length === known.length ? 'holds now' : 'holds in part', changed: holding }
}

/** A reporter of Vitest that prints and stores the states of the known failures. */
export default class KnownFailuresReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const states = modules.map(readModule).toSorted((left, right) => left.name.localeCompare(right.name))
    mkdirSync(dirname(KNOWN_FAILURES_FILE), { recursive: true })
    writeFileSync(KNOWN_FAILURES_FILE, JSON.stringify(states, undefined, 2))
    for (const { name, state, changed } of states) {
      console.log(`${state.padEnd(18)} ${name}`)
      for (const test of changed) console.log(`                     ${test}`)
    }
  }
}

function readModule(module: TestModule): KnownFailure {
  const name = basename(module.moduleId).replace(/(?:\.engine)?\.test\.ts$/, '')
  const tests = [...module.children.allTests()]
  const outcomes = tests.map((test): Outcome => ({
    name: test.name,
    isKnown: test.options.fails === true,
    isAsBefore: test.result().state === 'passed',
  }))
  const errors = module.errors().map((error) => error.message)
  return stateOf(name, outcomes, errors, tests.length > 0 && tests.every((test) => test.result().state === 'skipped'))
}
