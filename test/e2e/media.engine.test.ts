import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { mediaOn } from './media.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => mediaOn(awsBackend(endpoints)))
