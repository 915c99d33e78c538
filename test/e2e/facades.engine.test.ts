import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { facadesOn } from './facades.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  facadesOn(awsBackend(endpoints))
})
