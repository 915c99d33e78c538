import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { runningProgramOn, startedByHandOn } from '../rules/running-program.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  runningProgramOn(awsBackend(endpoints))
  startedByHandOn(awsBackend(endpoints))
})
