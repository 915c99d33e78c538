import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { badInputOn } from './bad-input.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  badInputOn(awsBackend(endpoints))
})
