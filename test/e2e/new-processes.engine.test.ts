import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { newProcessesOn } from './new-processes.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => newProcessesOn(awsBackend(endpoints)))
