import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../aws-backend.ts'
import { everyKindOn } from './every-kind.ts'
import { everyStepOn } from './every-step.ts'
import { randomKillsOn } from './random-kills.ts'
import { scenarios } from './scenarios.ts'

/** `WHOLE=1 npm run test:engines -- test/e2e/crashes`: every step of every scenario, and as many random kills as on SQLite. */
const whole = process.env['WHOLE'] === '1'
const SEED = Number(process.env['CRASH_SEED'] ?? 4_242)

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  const backend = awsBackend(endpoints)
  if (whole) everyStepOn(backend, scenarios)
  else everyKindOn(backend, SEED)
  randomKillsOn(backend, whole ? 200 : 6)
})
