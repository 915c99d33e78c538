/* Evidence, durability: Accepted input survives the death of the program before or after any durable step. */
/* Evidence, durability: A summary counts each message once, and sources keep their numbers, after a kill at any
 * step. */
/* Evidence, durability: A team three delegations deep loses nothing and repeats nothing after a kill at any step. */
/* Evidence, durability: A kill while the model is silent in the middle of a stream loses nothing and repeats
 * nothing. */
/* Evidence, deliveries: Callbacks of a pause and of an end arrive once by id, wherever the program dies. */
import { isWhole } from '../../whole.ts'
import { localBackend } from '../backend/local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { sampleSteps } from './sample-steps.ts'
import { scenarios } from './scenarios.ts'

// A kill after one step leaves the same state as a kill before the next step. So half of the scenarios test kills before the
// steps, and half test kills after them.
everyStepOn(localBackend, sampleSteps(scenarios.filter(({ name }) => name !== 'parallel')), (place) =>
  isWhole ? ['before', 'after'] : [place % 2 === 0 ? 'before' : 'after'],
)
