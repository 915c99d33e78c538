import {
  ConditionalCheckFailedException,
  GetItemCommand,
  paginateQuery,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/**
 * How far the table's stream has been read in each shard. Reading records twice is harmless. But without positions, every
 * restart would read up to a day of records again before it indexes anything new, and the warning about records that expired
 * unread would be lost.
 */
export interface StreamPositions {
  /** The last record that was handled together with all before it; undefined if none was. */
  read(shard: string): Promise<string | undefined>
  /** Whether positions are kept, but none for these shards: all shards that were read are gone from the stream. */
  areAllBehind(shards: readonly string[]): Promise<boolean>
  /** Keeps a position unless a later one is kept. */
  keep(shard: string, sequence: string): Promise<void>
}

/** No session and no key has this partition. */
export const POSITIONS = '#STREAM'
/** Sequence numbers have 21 to 40 digits: as wide as that, texts compare as numbers do. */
const DIGITS = 40

/** Positions in the table itself. */
export function createStreamPositions({
  client,
  tableName,
}: {
  readonly client: DynamoDBClient
  readonly tableName: string
}): StreamPositions {
  const keyOf = (shard: string) => ({ pk: { S: POSITIONS }, sk: { S: shard } })
  return {
    async read(shard) {
      const { Item } = await client.send(
        new GetItemCommand({ TableName: tableName, Key: keyOf(shard), ConsistentRead: true }),
      )
      return Item?.['sequence']?.S
    },
    async areAllBehind(shards) {
      const kept: string[] = []
      const pages = paginateQuery(
        { client },
        {
          TableName: tableName,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': { S: POSITIONS } },
          ProjectionExpression: 'sk',
          ConsistentRead: true,
        },
      )
      for await (const { Items = [] } of pages) kept.push(...Items.flatMap(({ sk }) => sk?.S ?? []))
      return kept.length > 0 && !kept.some((shard) => shards.includes(shard))
    },
    async keep(shard, sequence) {
      const place = sequence.padStart(DIGITS, '0')
      try {
        await client.send(
          new PutItemCommand({
            TableName: tableName,
            Item: { ...keyOf(shard), sequence: { S: sequence }, place: { S: place } },
            ConditionExpression: 'attribute_not_exists(pk) OR place < :place',
            ExpressionAttributeValues: { ':place': { S: place } },
          }),
        )
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error
      }
    },
  }
}
