/* Evidence, durability: A program that is suspended (SIGSTOP) until another has ended its session changes nothing
 * when it continues. */
import { localBackend } from '../backend/local-backend.ts'
import { sampleSteps } from './sample-steps.ts'
import { scenarios } from './scenarios.ts'
import { standStillOn } from './stand-still.ts'

standStillOn(
  localBackend,
  sampleSteps(scenarios.filter(({ name }) => ['parallel', 'approval', 'steer', 'silent'].includes(name))),
)
