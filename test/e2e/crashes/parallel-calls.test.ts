import { isCi } from '../../is-ci.ts'
import { localBackend } from '../backend/local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { scenarios } from './scenarios.ts'

const parallel = scenarios.filter(({ name }) => name === 'parallel')

everyStepOn(localBackend, isCi ? parallel.map((scenario) => ({ ...scenario, stride: 3 })) : parallel)
