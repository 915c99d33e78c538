import type { Scenario } from './scenarios.ts'

/** In CI one step in so many is tried. */
const STRIDE = 6
const LONG_STRIDES: ReadonlyMap<string, number> = new Map([['deep-team', 12]])

/**
 * In CI the other suites need the machine as well. A process that ends after a step leaves what one leaves that ends before the next:
 * with every sixth step, before and after it, one in three of these moments is tried. `npm run test:crashes` tries them all.
 */
export const inCi = (scenarios: readonly Scenario[]): readonly Scenario[] =>
  process.env['CI'] === 'true'
    ? scenarios.map((one) => ({ ...one, stride: Math.max(one.stride ?? 1, LONG_STRIDES.get(one.name) ?? STRIDE) }))
    : scenarios
