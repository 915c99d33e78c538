/* Evidence, durability: A program is suspended (SIGSTOP), and another program ends its run. When the first program continues,
 * it changes nothing. */
import { localBackend } from '../backend/local-backend.ts'
import { sampleSteps } from './sample-steps.ts'
import { scenarios } from './scenarios.ts'
import { standStillOn } from './stand-still.ts'

standStillOn(
  localBackend,
  sampleSteps(scenarios.filter(({ name }) => ['parallel', 'approval', 'steer', 'silent'].includes(name))),
)
