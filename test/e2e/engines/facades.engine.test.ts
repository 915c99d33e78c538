/* Evidence, clients: The client packages of four formats work while the program's processes are replaced. */
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { facadesOn } from '../rules/facades.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  facadesOn(awsBackend(endpoints))
})
