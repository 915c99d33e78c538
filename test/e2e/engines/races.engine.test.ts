/* Evidence, cloud: When four programs compete for a session on DynamoDB, each input runs once and in order. */
import { isWhole } from '../../whole.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { racesOn } from '../rules/races.ts'

/** Number of inputs. `WHOLE=1 npm run test:engines -- test/e2e/engines/races.engine.test.ts` sends as many as on SQLite. */
const LOAD = isWhole ? { inputs: 200, asked: 10, perKill: 20 } : { inputs: 16, asked: 3, perKill: 3 }

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  racesOn(awsBackend(endpoints), LOAD)
})
