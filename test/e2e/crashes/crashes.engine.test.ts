/* Evidence, durability: After a kill at any step, a team with three levels of delegation loses nothing and repeats nothing. */
/* Evidence, durability: If the program is killed while a model's stream is silent, nothing is lost and nothing is repeated. */
/* Evidence, durability: A program that is killed at a heartbeat loses nothing. */
/* Evidence, durability: A program is suspended (SIGSTOP), and another program ends its run. When the first program continues,
 * it changes nothing. */
import { isWhole } from '../../whole.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { everyKindOn } from './every-kind.ts'
import { everyStepOn } from './every-step.ts'
import { heartbeatKillsOn } from './heartbeat-kills.ts'
import { randomKillsOn } from './random-kills.ts'
import { scenarios } from './scenarios.ts'
import { standStillOn } from './stand-still.ts'

const SEED = Number(process.env['CRASH_SEED'] ?? 4_242)

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  const backend = awsBackend(endpoints)
  if (isWhole) everyStepOn(backend, scenarios)
  else everyKindOn(backend, SEED)
  randomKillsOn(backend, isWhole ? 200 : 2)
  heartbeatKillsOn(backend, isWhole ? { queued: [1, 2, 4], steer: [1, 2, 4] } : { steer: [2] })
  const still = scenarios.filter(({ name }) => ['parallel', 'approval', 'steer'].includes(name))
  standStillOn(backend, isWhole ? still : still.slice(0, 1).map((scenario) => ({ ...scenario, stride: 16 })))
})
