import { isWhole } from '../../whole.ts'
import { localBackend } from '../backend/local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { scenarios } from './scenarios.ts'

const parallel = scenarios.filter(({ name }) => name === 'parallel')

everyStepOn(localBackend, isWhole ? parallel : parallel.map((scenario) => ({ ...scenario, stride: 8 })))
