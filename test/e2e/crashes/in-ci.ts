import { isCi } from '../../is-ci.ts'
import type { Scenario } from './scenarios.ts'

/** In CI one step in so many is tried, of long scenarios one in twice as many. */
const STRIDE = 14
const LONG: ReadonlySet<string> = new Set(['deep-team', 'many', 'silent', 'summary'])
/** The first that is tried is one of so many: no scenario has fewer steps. */
const FIRST = 7

/**
 * These scenarios, in CI with some of their steps: others in each of them. `npm run test:crashes` tries all, before and after each
 * step.
 */
export const inCi = (scenarios: readonly Scenario[]): readonly Scenario[] =>
  isCi
    ? scenarios.map((one, place) => ({
        ...one,
        first: 1 + (place % FIRST),
        stride: Math.max(one.stride ?? 1, LONG.has(one.name) ? 2 * STRIDE : STRIDE),
      }))
    : scenarios
