import { isWhole } from '../../whole.ts'
import type { Scenario } from './scenarios.ts'

/** One step in `STRIDE` is tried, of long scenarios one in twice as many. */
const STRIDE = 36
const LONG: ReadonlySet<string> = new Set(['deep-team', 'many', 'silent', 'summary'])
/** The first step that is tried is one of these: no scenario has fewer steps. */
const FIRST = 7

/** The scenarios with a sample of their steps, another one in each. `WHOLE=1`: with all steps. */
export const sampleSteps = (scenarios: readonly Scenario[]): readonly Scenario[] =>
  isWhole
    ? scenarios
    : scenarios.map((one, place) => ({
        ...one,
        first: 1 + (place % FIRST),
        stride: Math.max(one.stride ?? 1, LONG.has(one.name) ? 2 * STRIDE : STRIDE),
      }))
