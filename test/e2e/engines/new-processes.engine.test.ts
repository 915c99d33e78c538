/* Evidence, replay: A program that restarts before each input sends the same requests as one that never stopped, also
 * for teams. */
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { newProcessesOn } from '../rules/new-processes.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => newProcessesOn(awsBackend(endpoints)))
