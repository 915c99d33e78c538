import { ENGINE_NAMES, FIELD_CASES, WIRE_NAMES, type FieldTest } from './field-names.ts'

export type FieldState = 'passed' | 'failed' | 'skipped'

/** One field test with its outcome. */
export interface FieldOutcome extends FieldTest {
  /** Names of the test's suites, then its own name and its file. */
  readonly name: string
  readonly file: string
  readonly state: FieldState
  /** The first line of the test's error. */
  readonly error?: string
}

/** Label of tests that depend on no wire, and of tests that depend on no engine. */
const NONE = '-'

/**
 * Formats the table of results as text: a row for each case and wire, and a column for each engine. A cell has the
 * number of passed tests, or the numbers of failed and skipped tests. The expected cases without a test follow below
 * the table, then the failed tests with their errors.
 */
export function fieldTable(outcomes: readonly FieldOutcome[], expected: readonly string[]): string {
  const engines = [...ENGINE_NAMES, NONE].filter((engine) => outcomes.some((one) => counts(one.engines, engine)))
  const rows = [['case', 'wire', ...engines]]
  const cases = [...new Set(outcomes.map((one) => one.case))].toSorted()
  for (const name of cases) {
    const ofCase = outcomes.filter((one) => one.case === name)
    const wires = [...WIRE_NAMES, NONE].filter((wire) => ofCase.some((one) => counts(one.wires, wire)))
    for (const [index, wire] of wires.entries()) {
      const ofWire = ofCase.filter((one) => counts(one.wires, wire))
      const cells = engines.map((engine) => cell(ofWire.filter((one) => counts(one.engines, engine))))
      rows.push([index === 0 ? title(name) : '', wire, ...cells])
    }
  }
  const missing = casesWithoutTest(outcomes, expected)
  const lines = [...aligned(rows)]
  if (missing.length > 0) lines.push('', `without a test: ${missing.join(', ')}`)
  const failed = outcomes.filter(({ state }) => state === 'failed')
  for (const { name, file, error } of failed)
    lines.push('', `FAILED ${name}`, `  ${file}`, ...(error ? [`  ${error}`] : []))
  lines.push('', summary(outcomes))
  return lines.join('\n')
}

/** Lists the expected cases that have no test, or only skipped tests. */
export const casesWithoutTest = (outcomes: readonly FieldOutcome[], expected: readonly string[]): string[] =>
  expected.filter((name) => !outcomes.some((one) => one.case === name && one.state !== 'skipped'))

const counts = (names: readonly string[], name: string): boolean =>
  name === NONE ? names.length === 0 : names.includes(name)

const title = (name: string): string => {
  const text = FIELD_CASES.get(name)
  return text === undefined ? name : `${name} ${text}`
}

function cell(outcomes: readonly FieldOutcome[]): string {
  const number = (state: FieldState): number => outcomes.filter((one) => one.state === state).length
  const parts = [
    number('failed') > 0 ? `${number('failed')} FAILED` : '',
    number('passed') > 0 ? `${number('passed')} ok` : '',
    number('skipped') > 0 ? `${number('skipped')} skipped` : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function summary(outcomes: readonly FieldOutcome[]): string {
  const variants = new Set(outcomes.map((one) => `${one.case}/${one.variant}`)).size
  const failed = outcomes.filter(({ state }) => state === 'failed').length
  const skipped = outcomes.filter(({ state }) => state === 'skipped').length
  return `${outcomes.length} tests of ${variants} variants: ${failed} failed, ${skipped} skipped`
}
