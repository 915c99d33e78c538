import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BatchGetItemCommand, QueryCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createDiskOutputStore } from '../../../functions/adapters/disk/output-store.ts'
import { createTableIfAbsent } from '../../../functions/adapters/dynamodb/create-table.ts'
import { createDynamoKeyStore } from '../../../functions/adapters/dynamodb/key-store.ts'
import { createDynamoLogImport } from '../../../functions/adapters/dynamodb/log/messages/log-import.ts'
import { createDynamoLogReader } from '../../../functions/adapters/dynamodb/log/messages/log-reader.ts'
import { createDynamoMessageRows } from '../../../functions/adapters/dynamodb/stream/message-rows.ts'
import { createDynamoMessageFeedback } from '../../../functions/adapters/dynamodb/log/messages/message-feedback.ts'
import { createDynamoOutbox } from '../../../functions/adapters/dynamodb/log/deliveries/outbox.ts'
import { createDynamoReceived } from '../../../functions/adapters/dynamodb/received.ts'
import { createDynamoSessionNames } from '../../../functions/adapters/dynamodb/session-names.ts'
import { createDynamoRunInbox } from '../../../functions/adapters/dynamodb/log/runs/run-inbox.ts'
import { createDynamoRunLease } from '../../../functions/adapters/dynamodb/log/runs/run-lease.ts'
import { createDynamoRunLog } from '../../../functions/adapters/dynamodb/log/runs/run-log.ts'
import { createDynamoSessionDeletion } from '../../../functions/adapters/dynamodb/log/sessions/deletion/session-deletion.ts'
import { createDynamoSessionJanitor } from '../../../functions/adapters/dynamodb/log/sessions/deletion/session-janitor.ts'
import type { DynamoDependencies } from '../../../functions/adapters/dynamodb/log/sessions/session-rows.ts'
import { createDynamoSessionStore } from '../../../functions/adapters/dynamodb/log/sessions/session-store.ts'
import { createDynamoUsageLedger } from '../../../functions/adapters/dynamodb/log/usage/usage-ledger.ts'
import { createManualClock } from '../../contracts/stores.ts'
import type { Engine, Opening, SessionPorts } from '../../contracts/stores.ts'
import { dynamodbClient } from '../../engines/clients.ts'

/**
 * Describes the engine DynamoDB. Each `open` creates a table. A second client acts as the other process. `through` replaces
 * the first client, for example by a client on a bad network.
 */
export const dynamodbEngine = (endpoint: string, through?: DynamoDBClient) =>
  ({
    name: 'DynamoDB',
    isSlow: true,
    open: async (opening: Opening = {}) => {
      const [first, second] = [through ?? dynamodbClient(endpoint), dynamodbClient(endpoint)]
      const tableName = await createTestTable(second)
      const folder = await mkdtemp(join(tmpdir(), 'tooltrail-dynamodb-'))
      const clock = createManualClock()
      const outputs = createDiskOutputStore({ folder })
      const { between } = opening
      if (between !== undefined) for (const client of [first, second]) waitBefore(client, between)
      return {
        ...dynamodbPorts({ client: first, tableName, outputs, clock }),
        rows: createDynamoMessageRows({ client: first, tableName, outputs, clock }),
        peer: dynamodbPorts({ client: second, tableName, outputs, clock }),
        clock,
        breakDown: async () => closePort(first),
        close: async () => {
          for (const client of [first, second]) client.destroy()
          await rm(folder, { recursive: true, force: true })
        },
      }
    },
  }) satisfies Engine

/**
 * Creates a table without a stream and returns its name. With streams, DynamoDB Local slows down with each record.
 */
export async function createTestTable(client: DynamoDBClient): Promise<string> {
  const TableName = `log-${crypto.randomUUID()}`
  await createTableIfAbsent(client, TableName)
  await client.send(new UpdateTableCommand({ TableName, StreamSpecification: { StreamEnabled: false } }))
  return TableName
}

/** Creates all session ports of one process. */
export const dynamodbPorts = (dependencies: DynamoDependencies): SessionPorts => ({
  sessions: createDynamoSessionStore(dependencies),
  inbox: createDynamoRunInbox(dependencies),
  lease: createDynamoRunLease(dependencies),
  log: createDynamoRunLog(dependencies),
  imports: createDynamoLogImport(dependencies),
  reader: createDynamoLogReader(dependencies),
  janitor: createDynamoSessionJanitor(dependencies),
  deletion: createDynamoSessionDeletion(dependencies),
  outbox: createDynamoOutbox(dependencies),
  feedback: createDynamoMessageFeedback(dependencies),
  received: createDynamoReceived(dependencies),
  names: createDynamoSessionNames(dependencies),
  keys: createDynamoKeyStore(dependencies),
  usage: createDynamoUsageLedger(dependencies),
})

const READS: ReadonlySet<string> = new Set([BatchGetItemCommand.name, QueryCommand.name])

/** Lets another process write before each request. */
function waitBefore(client: DynamoDBClient, between: NonNullable<Opening['between']>): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (input) =>
        between(() => next(input), READS.has(commandName) ? 'read' : 'write'),
    { step: 'initialize', name: 'between' },
  )
}

/** Makes the client connect to a port without a listener. */
function closePort(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next) => (input) => {
      const { request } = input
      if (typeof request === 'object' && request !== null && 'port' in request) request.port = 1
      return next(input)
    },
    { step: 'finalizeRequest', priority: 'low', name: 'closePort' },
  )
}
