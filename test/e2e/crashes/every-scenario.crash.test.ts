import { localBackend } from '../local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { inCi } from './in-ci.ts'
import { scenarios } from './scenarios.ts'

everyStepOn(localBackend, inCi(scenarios.filter(({ name }) => name !== 'parallel')))
