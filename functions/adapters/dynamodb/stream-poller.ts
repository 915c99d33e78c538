import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
} from '@aws-sdk/client-dynamodb-streams'
import type { DynamoDBStreamsClient, Shard } from '@aws-sdk/client-dynamodb-streams'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { StreamRecord } from './row-records.ts'

/** What Lambda does on AWS: hands the records of a stream on in order, and again from the first that failed. */
export interface StreamPoller {
  /** Resolves when nothing is being handed on any more. */
  stop(): Promise<void>
}

interface Dependencies {
  readonly client: DynamoDBStreamsClient
  readonly tableName: string
  /** Names the earliest record that failed. */
  readonly handle: (records: readonly StreamRecord[]) => Promise<{ readonly failed: readonly string[] }>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn' | 'error'>
}

const IDLE_MS = 200
const AFTER_ERROR_MS = 1_000
/** Records of one batch, as for the function on AWS. */
const BATCH = 100

/**
 * Polls the stream of a table from its oldest record, for a machine without Lambda. Shards are read side by side, each after
 * its parent. Nothing is remembered between two starts: indexing twice does no harm.
 */
export function startStreamPoller(dependencies: Dependencies): StreamPoller {
  const { clock, logger, tableName } = dependencies
  const stopping = new AbortController()
  const shards = new Map<string, ShardReader>()
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const read = await pollOnce(dependencies, shards)
        if (read === 0) await pause(clock, IDLE_MS, stopping.signal)
      } catch (error) {
        logger.error('reading the stream failed', error, { table: tableName })
        await pause(clock, AFTER_ERROR_MS, stopping.signal)
      }
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

interface ShardReader {
  readonly parent: string | undefined
  /** Undefined: not begun. */
  iterator: string | undefined
  ended: boolean
}

/** Reads what is there now; answers how many records it handed on or will have to hand on again. */
async function pollOnce(dependencies: Dependencies, shards: Map<string, ShardReader>): Promise<number> {
  const { client, tableName } = dependencies
  const { Streams } = await client.send(new ListStreamsCommand({ TableName: tableName }))
  const arn = Streams?.at(-1)?.StreamArn
  if (arn === undefined) throw new Error(`table ${tableName} has no stream`)
  for (const { ShardId, ParentShardId } of await listShards(client, arn))
    if (ShardId !== undefined && !shards.has(ShardId))
      shards.set(ShardId, { parent: ParentShardId, iterator: undefined, ended: false })
  const ready = [...shards].filter(
    ([, { ended, parent }]) => !ended && (parent === undefined || (shards.get(parent)?.ended ?? true)),
  )
  const counts = await Promise.all(ready.map(([id, shard]) => readShard(dependencies, arn, id, shard)))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function listShards(client: DynamoDBStreamsClient, StreamArn: string): Promise<Shard[]> {
  const shards: Shard[] = []
  let after: string | undefined
  do {
    const { StreamDescription: page } = await client.send(
      new DescribeStreamCommand({ StreamArn, ...(after === undefined ? {} : { ExclusiveStartShardId: after }) }),
    )
    shards.push(...(page?.Shards ?? []))
    after = page?.LastEvaluatedShardId
  } while (after !== undefined)
  return shards
}

async function readShard(
  { client, handle, clock }: Dependencies,
  StreamArn: string,
  ShardId: string,
  shard: ShardReader,
): Promise<number> {
  const place = { StreamArn, ShardId }
  shard.iterator ??= (
    await client.send(new GetShardIteratorCommand({ ...place, ShardIteratorType: 'TRIM_HORIZON' }))
  ).ShardIterator
  let page
  try {
    page = await client.send(new GetRecordsCommand({ ShardIterator: shard.iterator, Limit: BATCH }))
  } catch (error) {
    // Iterators live for 15 minutes: the next poll begins anew.
    shard.iterator = undefined
    throw error
  }
  const records = page.Records ?? []
  const [failed] = records.length === 0 ? [] : (await handle(records)).failed
  if (failed === undefined) {
    shard.iterator = page.NextShardIterator
    shard.ended = page.NextShardIterator === undefined
  } else {
    await clock.sleep(AFTER_ERROR_MS)
    const again = { ...place, ShardIteratorType: 'AT_SEQUENCE_NUMBER', SequenceNumber: failed } as const
    shard.iterator = (await client.send(new GetShardIteratorCommand(again))).ShardIterator
  }
  return records.length
}

async function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(milliseconds, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
