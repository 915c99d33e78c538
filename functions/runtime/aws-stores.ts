import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import { createDynamoLogReader } from '../adapters/dynamodb/log-reader.ts'
import { createDynamoRunInbox } from '../adapters/dynamodb/run-inbox.ts'
import { createDynamoRunLease } from '../adapters/dynamodb/run-lease.ts'
import { createDynamoRunLog } from '../adapters/dynamodb/run-log.ts'
import { createDynamoSessionDeletion } from '../adapters/dynamodb/session-deletion.ts'
import { createDynamoSessionJanitor } from '../adapters/dynamodb/session-janitor.ts'
import { createDynamoSessionStore } from '../adapters/dynamodb/session-store.ts'
import { createS3OutputStore } from '../adapters/s3/output-store.ts'
import type { Clock } from '../ports/clock.ts'

export interface StoreDependencies {
  readonly dynamodb: DynamoDBClient
  readonly s3: S3Client
  readonly table: string
  readonly bucket: string
  readonly clock: Clock
}

/** The ports on rows and outputs that executing runs stands on, on DynamoDB and S3. */
export function createAwsStores({ dynamodb, s3, table, bucket, clock }: StoreDependencies) {
  const outputs = createS3OutputStore({ client: s3, bucket })
  const rows = { client: dynamodb, tableName: table, outputs, clock }
  return {
    rows,
    ports: {
      sessions: createDynamoSessionStore(rows),
      inbox: createDynamoRunInbox(rows),
      lease: createDynamoRunLease(rows),
      log: createDynamoRunLog(rows),
      reader: createDynamoLogReader(rows),
      janitor: createDynamoSessionJanitor(rows),
      deletion: createDynamoSessionDeletion(rows),
      outputs,
      clock,
    },
  }
}
