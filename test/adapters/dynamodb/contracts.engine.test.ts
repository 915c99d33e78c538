/* Evidence, durability: A run ends whatever its session has stored, such as 7,000 numbered results. */
import { sessionPortsContract } from '../../contracts/session-ports.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { dynamodbEngine } from './engine.ts'

withEngines(['dynamodb'], ({ dynamodb }) => sessionPortsContract(dynamodbEngine(dynamodb)))
