import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { runningProgramOn, startedByHandOn } from './running-program.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  runningProgramOn(awsBackend(endpoints))
  startedByHandOn(awsBackend(endpoints))
})
