import { createHash, randomUUID } from 'node:crypto'
import { BatchGetItemCommand, DeleteTableCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../../functions/ports/clock.ts'
import { createTestTable, dynamodbPorts } from '../../../test/adapters/dynamodb/engine.ts'
import { dynamodbClient } from '../../../test/engines/clients.ts'
import { sendInStep } from './engine-steps.ts'
import type { MemoryOutputs } from './outputs.ts'
import type { SharedStore } from './stores.ts'

const READS: ReadonlySet<string> = new Set([BatchGetItemCommand.name, QueryCommand.name])

/**
 * Creates a new table in a running DynamoDB engine. Each request of an adapter is one step. While the engine executes a
 * request, virtual time stops.
 */
export async function openDynamodbStore(endpoint: string, outputs: MemoryOutputs): Promise<SharedStore> {
  const client = dynamodbClient(endpoint)
  const tableName = await createTestTable(client)
  sendInSteps(client)
  return {
    portsFor: (clock, process) =>
      dynamodbPorts({ client, tableName, outputs, clock: process === undefined ? timeless(clock) : clock }),
    expires: false,
    inSteps: true,
    async close() {
      await client.send(new DeleteTableCommand({ TableName: tableName }))
      client.destroy()
    },
  }
}

/** Returns a clock whose sleeps do not use virtual time, for requests from outside the simulation. */
const timeless = ({ now }: Clock): Clock => ({ now, sleep: () => new Promise((resolve) => setImmediate(resolve)) })

/**
 * Adds a middleware as the outermost one of the client, so that the client processes a request only within the
 * request's step.
 */
function sendInSteps(client: DynamoDBClient): void {
  const prefix = randomUUID()
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      ({ input }) =>
        sendInStep(READS.has(commandName) ? 'read' : 'write', () => next({ input: withOwnToken(input, prefix) })),
    { step: 'initialize', priority: 'high', name: 'sendInSteps' },
  )
}

/**
 * Makes the request token unique. The engine remembers the tokens of all tables for minutes, and a repeated seed would
 * draw equal tokens.
 */
function withOwnToken<Input extends object>(input: Input, prefix: string): Input {
  if (!('ClientRequestToken' in input && 'TransactItems' in input)) return input
  const said = JSON.stringify([prefix, input.ClientRequestToken, input.TransactItems])
  return { ...input, ClientRequestToken: createHash('sha1').update(said).digest('hex').slice(0, 36) }
}
