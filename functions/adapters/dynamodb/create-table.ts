import {
  CreateTableCommand,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import type { CreateTableCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DUE_INDEX, GROUP_INDEX, OWNER_INDEX } from './keys.ts'

const READY_SECONDS = 120

/** Attributes that the indexes contain, so that lists can compare them without reading the session. */
const LISTED = ['agent_print', 'active_run', 'queued']

/** Definition of the table: keys, stream and the sparse indexes. */
export const TABLE = {
  AttributeDefinitions: [
    { AttributeName: 'pk', AttributeType: 'S' },
    { AttributeName: 'sk', AttributeType: 'S' },
    { AttributeName: 'group', AttributeType: 'S' },
    { AttributeName: 'at', AttributeType: 'S' },
    { AttributeName: 'owner_group', AttributeType: 'S' },
    { AttributeName: 'due_shard', AttributeType: 'S' },
    { AttributeName: 'due', AttributeType: 'N' },
  ],
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: GROUP_INDEX,
      KeySchema: [
        { AttributeName: 'group', KeyType: 'HASH' },
        { AttributeName: 'at', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: LISTED },
    },
    {
      IndexName: OWNER_INDEX,
      KeySchema: [
        { AttributeName: 'owner_group', KeyType: 'HASH' },
        { AttributeName: 'at', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: LISTED },
    },
    {
      IndexName: DUE_INDEX,
      KeySchema: [
        { AttributeName: 'due_shard', KeyType: 'HASH' },
        { AttributeName: 'due', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'KEYS_ONLY' },
    },
  ],
  BillingMode: 'PAY_PER_REQUEST',
  StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
} satisfies Omit<CreateTableCommandInput, 'TableName'>

/** Creates the table if it does not exist, and waits until it is active. On AWS, the stack creates it. */
export async function createTableIfAbsent(client: DynamoDBClient, tableName: string): Promise<void> {
  try {
    await client.send(new CreateTableCommand({ ...TABLE, TableName: tableName }))
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error
    return
  }
  await waitUntilTableExists({ client, maxWaitTime: READY_SECONDS, minDelay: 1 }, { TableName: tableName })
  const TimeToLiveSpecification = { AttributeName: 'expires_at', Enabled: true }
  await client.send(new UpdateTimeToLiveCommand({ TableName: tableName, TimeToLiveSpecification }))
}
