import type { Scenario } from './scenarios.ts'

/** Scenarios of so many steps that in CI only each so-manieth is tried. */
const LONG: ReadonlyMap<string, number> = new Map([
  ['team', 3],
  ['summary', 3],
  ['sources', 3],
  ['silent', 3],
  ['silent-cancel', 3],
  ['deep-team', 6],
])

/**
 * In CI the other suites need the machine as well. A process that ends after a step leaves what one leaves that ends before the next:
 * with every second step, before and after it, each of these moments is still tried once.
 */
export const inCi = (scenarios: readonly Scenario[]): readonly Scenario[] =>
  process.env['CI'] === 'true'
    ? scenarios.map((one) => ({ ...one, stride: Math.max(one.stride ?? 1, LONG.get(one.name) ?? 2) }))
    : scenarios
