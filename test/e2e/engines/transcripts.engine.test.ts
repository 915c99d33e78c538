import { isWhole } from '../../whole.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { transcriptsOn } from '../rules/transcripts.ts'
import { oddest } from '../transcripts/oddest.ts'

/** Number of conversations. `WHOLE=1 npm run test:engines -- test/e2e/engines/transcripts.engine.test.ts` tests all of them. */
const CONVERSATIONS = isWhole ? Infinity : 5

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  transcriptsOn(awsBackend(endpoints), (all) => oddest(all, CONVERSATIONS, 1))
})
