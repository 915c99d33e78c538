import {
  ConditionalCheckFailedException,
  GetItemCommand,
  paginateQuery,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/**
 * Stores how far each shard of the table's stream has been read. Reading records twice is harmless. But without
 * positions, every restart would read up to a day of old records before it indexes new ones. The process would also not
 * warn about records that expired unread.
 */
export interface StreamPositions {
  /** Returns the sequence number up to which all records of the shard were handled; undefined if none is stored. */
  read(shard: string): Promise<string | undefined>
  /**
   * Whether positions are stored, but none for these shards. In this case, the stream has dropped all shards that were
   * read.
   */
  areAllBehind(shards: readonly string[]): Promise<boolean>
  /** Stores a position, unless a later one is stored. */
  keep(shard: string, sequence: string): Promise<void>
}

/** Partition of the positions. No session and no API key uses it. */
export const POSITIONS = '#STREAM'
/** Digits to which sequence numbers are padded; they have 21 to 40. Texts of equal length compare like numbers. */
const DIGITS = 40

/** Creates the store of positions in the table whose stream is read. */
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
