import { DescribeStreamCommand, GetRecordsCommand, GetShardIteratorCommand } from '@aws-sdk/client-dynamodb-streams'
import type { DynamoDBStreamsClient, _Record } from '@aws-sdk/client-dynamodb-streams'

/** A record in the form that Lambda passes to a function. */
export interface StreamRecord {
  readonly eventName: string
  readonly dynamodb: {
    readonly SequenceNumber: string
    readonly Keys: unknown
    readonly ApproximateCreationDateTime: number
  }
  readonly userIdentity?: { readonly type: string; readonly principalId: string }
}

/** Opens a stream with one shard, like the engine's, and reads the stream from its start. */
export async function openStream(
  client: DynamoDBStreamsClient,
  streamArn: string,
  sourceArn: string,
): Promise<{ readonly shard: string; next(): Promise<readonly StreamRecord[]> }> {
  const { StreamDescription } = await client.send(new DescribeStreamCommand({ StreamArn: streamArn }))
  const shard = StreamDescription?.Shards?.[0]?.ShardId
  if (shard === undefined || StreamDescription?.Shards?.length !== 1) throw new Error('the stream is not of one shard')
  const first = await client.send(
    new GetShardIteratorCommand({ StreamArn: streamArn, ShardId: shard, ShardIteratorType: 'TRIM_HORIZON' }),
  )
  let iterator = first.ShardIterator
  return {
    shard,
    async next() {
      if (iterator === undefined) throw new Error('the shard has ended')
      const { Records = [], NextShardIterator } = await client.send(new GetRecordsCommand({ ShardIterator: iterator }))
      iterator = NextShardIterator
      return Records.map((record) => toLambda(record, sourceArn))
    },
  }
}

function toLambda(record: _Record, sourceArn: string): StreamRecord {
  const plain = JSON.parse(JSON.stringify(record, binaryAsBase64)) as StreamRecord
  // The engine reports whole minutes. The record is newer than the last poll, so the current time is close enough.
  const ApproximateCreationDateTime = Math.floor(Date.now() / 1_000)
  return {
    ...plain,
    ...{ eventSourceARN: sourceArn },
    dynamodb: { ...plain.dynamodb, ApproximateCreationDateTime },
  }
}

/** Encodes bytes as base64, because `JSON.stringify` would turn them into objects. */
function binaryAsBase64(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
