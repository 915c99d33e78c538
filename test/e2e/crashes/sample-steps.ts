import { isWhole } from '../../whole.ts'
import type { Scenario } from './scenarios.ts'

/** One step in `STRIDE` is tried; in long scenarios, one in twice `STRIDE`. */
const STRIDE = 36
const LONG: ReadonlySet<string> = new Set(['deep-team', 'many', 'silent', 'summary'])
/** The first tried step is one of the first seven. Each scenario has at least as many steps. */
const FIRST = 7

/** The scenarios with a different sample of steps each. `WHOLE=1`: with all steps. */
export const sampleSteps = (scenarios: readonly Scenario[]): readonly Scenario[] =>
  isWhole
    ? scenarios
    : scenarios.map((one, place) => ({
        ...one,
        first: 1 + (place % FIRST),
        stride: Math.max(one.stride ?? 1, LONG.has(one.name) ? 2 * STRIDE : STRIDE),
      }))
