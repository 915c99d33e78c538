import type { Clock } from '../../functions/ports/clock.ts'
import { createTestTable, dynamodbPorts } from '../adapters/dynamodb/engine.ts'
import { dynamodbClient } from '../engines/clients.ts'
import { createMemoryOutputs } from './outputs.ts'
import type { SharedStore } from './stores.ts'

/**
 * A new table of a running DynamoDB. Virtual time stands still while a request is under way there, so what the store waits for by
 * itself takes no virtual time.
 */
export async function openDynamodbStore(endpoint: string): Promise<SharedStore> {
  const client = dynamodbClient(endpoint)
  const tableName = await createTestTable(client)
  const outputs = createMemoryOutputs()
  return {
    portsFor: ({ now }: Clock) =>
      dynamodbPorts({
        client,
        tableName,
        outputs,
        clock: { now, sleep: () => new Promise((resolve) => setImmediate(resolve)) },
      }),
    expires: false,
    close: () => client.destroy(),
  }
}
