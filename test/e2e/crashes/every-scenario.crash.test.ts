import { localBackend } from '../local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { scenarios } from './scenarios.ts'

/** Scenarios of many steps that take most of this suite's time: in CI each third step is tried. */
const LONG = ['team', 'summary', 'sources']
const isInCi = process.env['CI'] === 'true'

everyStepOn(
  localBackend,
  scenarios
    .filter(({ name }) => name !== 'parallel')
    .map((scenario) => (isInCi && LONG.includes(scenario.name) ? { ...scenario, stride: 3 } : scenario)),
)
