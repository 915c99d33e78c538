import { sessionPortsContract } from '../../contracts/session-ports.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { dynamodbEngine } from './engine.ts'

withEngines(['dynamodb'], ({ dynamodb }) => sessionPortsContract(dynamodbEngine(dynamodb)))
