import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createDynamoLogImport } from '../../adapters/dynamodb/log/messages/log-import.ts'
import { createDynamoLogReader } from '../../adapters/dynamodb/log/messages/log-reader.ts'
import { createDynamoMessageFeedback } from '../../adapters/dynamodb/log/messages/message-feedback.ts'
import { createDynamoOutbox } from '../../adapters/dynamodb/log/deliveries/outbox.ts'
import { createDynamoRunInbox } from '../../adapters/dynamodb/log/runs/run-inbox.ts'
import { createDynamoRunLease } from '../../adapters/dynamodb/log/runs/run-lease.ts'
import { createDynamoRunLog } from '../../adapters/dynamodb/log/runs/run-log.ts'
import { createDynamoSessionDeletion } from '../../adapters/dynamodb/log/sessions/deletion/session-deletion.ts'
import { createDynamoSessionJanitor } from '../../adapters/dynamodb/log/sessions/deletion/session-janitor.ts'
import { createDynamoSessionStore } from '../../adapters/dynamodb/log/sessions/session-store.ts'
import { createDynamoUsageLedger } from '../../adapters/dynamodb/log/usage/usage-ledger.ts'
import { createDynamoReceived } from '../../adapters/dynamodb/received.ts'
import { createDynamoSessionNames } from '../../adapters/dynamodb/session-names.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OutputStore } from '../../ports/output-store.ts'

export interface StoreDependencies {
  readonly dynamodb: DynamoDBClient
  readonly outputs: OutputStore
  readonly table: string
  readonly clock: Clock
}

/** Creates the ports on DynamoDB that a process needs to execute runs: for rows and outputs. */
export function createAwsStores({ dynamodb, outputs, table, clock }: StoreDependencies) {
  const rows = { client: dynamodb, tableName: table, outputs, clock }
  return {
    rows,
    ports: {
      sessions: createDynamoSessionStore(rows),
      inbox: createDynamoRunInbox(rows),
      lease: createDynamoRunLease(rows),
      log: createDynamoRunLog(rows),
      imports: createDynamoLogImport(rows),
      reader: createDynamoLogReader(rows),
      janitor: createDynamoSessionJanitor(rows),
      deletion: createDynamoSessionDeletion(rows),
      outbox: createDynamoOutbox(rows),
      feedback: createDynamoMessageFeedback(rows),
      received: createDynamoReceived(rows),
      names: createDynamoSessionNames(rows),
      usage: createDynamoUsageLedger(rows),
      outputs,
      clock,
    },
  }
}
