/* Evidence, api: After kill -9, a client that resumes a Response gets the text of one attempt. */
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { killedResponsesOn } from '../rules/killed-responses.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => killedResponsesOn(awsBackend(endpoints)))
