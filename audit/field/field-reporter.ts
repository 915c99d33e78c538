import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { FIELD_CASES, readFieldName } from './field-names.ts'
import { casesWithoutTest, fieldTable, type FieldOutcome } from './field-table.ts'

/**
 * A reporter of Vitest that prints the table of the field tests. A file or a hook that fails counts as a failed test.
 * If an expected case has no test, the run fails too.
 */
export default class FieldReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly { readonly message: string }[]): void {
    const outcomes = modules.flatMap(readModule)
    const expected = expectedCases()
    console.log(fieldTable(outcomes, expected))
    for (const { message } of errors) console.log(`error outside of tests: ${message}`)
    if (outcomes.length === 0) console.log('no test has a name with field/<case>/<variant> (CONTRIBUTING.md)')
    const isMissing = casesWithoutTest(outcomes, expected).length > 0
    if (outcomes.length === 0 || errors.length > 0 || isMissing || outcomes.some(({ state }) => state === 'failed'))
      process.exitCode = 1
  }
}

function readModule(module: TestModule): FieldOutcome[] {
  const file = relative(process.cwd(), module.moduleId)
  // If a hook fails, Vitest marks its tests as skipped. So the errors of hooks are counted separately.
  const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors())
  const broken = [...module.errors(), ...suites].map(({ message }): FieldOutcome => {
    const error = firstLine(message)
    return { case: 'not run', variant: file, wires: [], engines: [], name: file, file, state: 'failed', error }
  })
  return [...broken, ...[...module.children.allTests()].flatMap((test) => readTest(test, file))]
}

function readTest(test: TestCase, file: string): FieldOutcome[] {
  const names = [test.name]
  for (let parent = test.parent; parent.type === 'suite'; parent = parent.parent) names.unshift(parent.name)
  const read = readFieldName(names)
  if (read === undefined || !isWanted(read.case)) return []
  const { state, errors } = test.result()
  const error = errors?.[0]?.message
  const outcome = state === 'passed' || state === 'skipped' ? state : 'failed'
  return [
    {
      ...read,
      name: names.join(' > '),
      file,
      state: outcome,
      ...(error === undefined ? {} : { error: firstLine(error) }),
    },
  ]
}

/** Returns the cases for which a test is required. If only some projects run, no case is required. */
function expectedCases(): readonly string[] {
  const only = process.env['FIELD_CASE'] ?? ''
  if (only !== '') return [only]
  return process.env['FIELD_PROJECTS'] === 'all' ? [...FIELD_CASES.keys()] : []
}

/**
 * Whether the table contains this case. `npm run test:field -- <case>` sets `FIELD_CASE`, which limits the table to one
 * case.
 */
const isWanted = (name: string): boolean => [undefined, '', name].includes(process.env['FIELD_CASE'])

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''
