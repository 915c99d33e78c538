import { isWhole } from '../../whole.ts'
import type { Scenario } from './scenarios.ts'

/** Distance between two tried steps of a scenario. In long scenarios, the distance is twice as large. */
const STRIDE = 108
const LONG: ReadonlySet<string> = new Set(['deep-team', 'many', 'silent', 'summary'])
/** The first tried step of a scenario is one of its first seven. Each scenario has at least seven steps. */
const FIRST = 7

/** Limits each scenario to a sample of its steps. The samples begin at different steps. With `WHOLE=1`, all steps are tried. */
export const sampleSteps = (scenarios: readonly Scenario[]): readonly Scenario[] =>
  isWhole
    ? scenarios
    : scenarios.map((one, place) => ({
        ...one,
        first: 1 + (place % FIRST),
        stride: Math.max(one.stride ?? 1, LONG.has(one.name) ? 2 * STRIDE : STRIDE),
      }))
