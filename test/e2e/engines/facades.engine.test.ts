/* Evidence, clients: The client packages of four formats work while the program's processes are replaced. */
import { describe } from 'vitest'
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { facadesOn } from '../rules/facades.ts'
import { isWhole } from '../../whole.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  // In CI, the packages run on SQLite (`../facades.test.ts`) and on the deployed functions (`test/deployed/system.engine.test.ts`).
  describe.runIf(isWhole)('with WHOLE=1', () => {
    facadesOn(awsBackend(endpoints))
  })
})
