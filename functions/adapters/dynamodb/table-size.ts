import { DescribeTableCommand, paginateScan } from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** Segments of the table that are read in parallel. */
const SEGMENTS = 4

/** Returns the table's size, which DynamoDB updates about every six hours. */
export async function tableSize(
  client: DynamoDBClient,
  tableName: string,
): Promise<{ readonly items: number; readonly bytes: number }> {
  const { Table: table } = await client.send(new DescribeTableCommand({ TableName: tableName }))
  return { items: table?.ItemCount ?? 0, bytes: table?.TableSizeBytes ?? 0 }
}

/**
 * Returns the maximum number of history documents that the table's messages can have. Reads the whole table, so the
 * cost grows with its size.
 */
export async function documentsOfTable(client: DynamoDBClient, tableName: string): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: SEGMENTS }, async (_, segment) => {
      let count = 0
      const pages = paginateScan(
        { client },
        { TableName: tableName, Segment: segment, TotalSegments: SEGMENTS, ProjectionExpression: 'documents' },
      )
      for await (const { Items: items = [] } of pages)
        for (const { documents } of items) count += Number(documents?.N ?? 0)
      return count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}
