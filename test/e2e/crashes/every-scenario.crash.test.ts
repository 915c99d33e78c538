/* Evidence, durability: An accepted input is executed even if the program dies before or after any durable step. */
/* Evidence, durability: After a kill at any step, a summary counts each message once, and sources keep their numbers. */
/* Evidence, durability: After a kill at any step, a team with three levels of delegation loses nothing and repeats nothing. */
/* Evidence, durability: If the program is killed while a model's stream is silent, nothing is lost and nothing is repeated. */
/* Evidence, deliveries: Each pause and end has one callback with a fixed id, even if the program dies at any step. */
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
