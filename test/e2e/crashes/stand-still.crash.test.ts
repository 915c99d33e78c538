import { localBackend } from '../backend/local-backend.ts'
import { sampleSteps } from './sample-steps.ts'
import { scenarios } from './scenarios.ts'
import { standStillOn } from './stand-still.ts'

standStillOn(
  localBackend,
  sampleSteps(scenarios.filter(({ name }) => ['parallel', 'approval', 'steer', 'silent'].includes(name))),
)
