import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { racesOn } from './races.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  racesOn(awsBackend(endpoints))
})
