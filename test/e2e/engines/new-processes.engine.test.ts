/* Evidence, replay: New processes for each input send the requests of a program that never stopped, for teams as
 * well. */
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { newProcessesOn } from '../rules/new-processes.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => newProcessesOn(awsBackend(endpoints)))
