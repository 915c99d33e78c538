import { isWhole } from '../../whole.ts'
import { localBackend } from '../backend/local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { sampleSteps } from './sample-steps.ts'
import { scenarios } from './scenarios.ts'

// A kill after a step leaves what a kill before the next step leaves: half of the scenarios try the one, half the other.
everyStepOn(localBackend, sampleSteps(scenarios.filter(({ name }) => name !== 'parallel')), (place) =>
  isWhole ? ['before', 'after'] : [place % 2 === 0 ? 'before' : 'after'],
)
