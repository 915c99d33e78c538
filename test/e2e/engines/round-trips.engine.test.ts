/* Evidence, imports: After an import of a native export, the messages equal the exported ones. */
import { isWhole } from '../../whole.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { generatedRoundTripsOn, roundTripsOn } from '../rules/round-trips.ts'
import { oddest } from '../transcripts/oddest.ts'

/** Number of conversations. `WHOLE=1 npm run test:engines -- test/e2e/engines/round-trips.engine.test.ts` tests all of them. */
const CONVERSATIONS = isWhole ? Infinity : 5

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  generatedRoundTripsOn(awsBackend(endpoints), isWhole ? 15 : 6)
  roundTripsOn(awsBackend(endpoints), (all) => oddest(all, CONVERSATIONS, 1))
})
