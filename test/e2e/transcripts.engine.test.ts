import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { transcriptsOn } from './transcripts.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  transcriptsOn(awsBackend(endpoints))
})
