import { localBackend } from '../local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { scenarios } from './scenarios.ts'

/** Scenarios of many steps that take most of this suite's time: in CI each so-manieth step is tried. */
const LONG: ReadonlyMap<string, number> = new Map([
  ['team', 3],
  ['summary', 3],
  ['sources', 3],
  ['deep-team', 6],
])
const isInCi = process.env['CI'] === 'true'

everyStepOn(
  localBackend,
  scenarios
    .filter(({ name }) => name !== 'parallel')
    .map((scenario) => ({
      ...scenario,
      stride: (isInCi ? LONG.get(scenario.name) : undefined) ?? scenario.stride ?? 1,
    })),
)
