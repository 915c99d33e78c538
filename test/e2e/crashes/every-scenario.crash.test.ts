import { localBackend } from '../local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { scenarios } from './scenarios.ts'

everyStepOn(
  localBackend,
  scenarios.filter(({ name }) => name !== 'parallel'),
)
