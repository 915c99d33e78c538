/* Evidence, imports: An import that is killed repeatedly stores every message once and in order. */
import { awsBackend } from '../../e2e/backend/aws-backend.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { killedImportsOn } from './killed-imports.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  killedImportsOn(awsBackend(endpoints))
})
