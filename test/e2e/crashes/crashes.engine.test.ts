import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { everyKindOn } from './every-kind.ts'
import { everyStepOn } from './every-step.ts'
import { heartbeatKillsOn } from './heartbeat-kills.ts'
import { randomKillsOn } from './random-kills.ts'
import { scenarios } from './scenarios.ts'
import { standStillOn } from './stand-still.ts'

/** `WHOLE=1 npm run test:engines -- test/e2e/crashes`: every step of every scenario, and as many random kills as on SQLite. */
const whole = process.env['WHOLE'] === '1'
const SEED = Number(process.env['CRASH_SEED'] ?? 4_242)

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  const backend = awsBackend(endpoints)
  if (whole) everyStepOn(backend, scenarios)
  else everyKindOn(backend, SEED)
  randomKillsOn(backend, whole ? 200 : 4)
  heartbeatKillsOn(backend, whole ? { queued: [1, 2, 4], steer: [1, 2, 4] } : { steer: [2] })
  const still = scenarios.filter(({ name }) => ['parallel', 'approval', 'steer'].includes(name))
  standStillOn(backend, whole ? still : still.slice(0, 1).map((scenario) => ({ ...scenario, stride: 16 })))
})
