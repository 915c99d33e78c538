import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
  TrimmedDataAccessException,
} from '@aws-sdk/client-dynamodb-streams'
import type { DynamoDBStreamsClient, Shard } from '@aws-sdk/client-dynamodb-streams'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { StreamRecord } from './row-records.ts'
import { POSITIONS, type StreamPositions } from './stream-positions.ts'

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
  /** Left out: it begins with the oldest record. */
  readonly positions?: StreamPositions
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn' | 'error'>
}

const IDLE_MS = 200
const AFTER_ERROR_MS = 1_000
/** What a process that was killed has handled since comes to the next once more, which does no harm. */
const KEEP_EVERY_MS = 2_000
/** Records of one batch, as for the function on AWS. */
const BATCH = 100

/**
 * Polls the stream of a table, for a machine without Lambda, from where any process has left it. Shards are read side by side,
 * each after its parent. Several processes each read all of it: indexing twice does no harm.
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
  keptAt: number
}

/** Reads what is there now; answers how many records it handed on or will have to hand on again. */
async function pollOnce(dependencies: Dependencies, shards: Map<string, ShardReader>): Promise<number> {
  const { client, tableName } = dependencies
  const { Streams } = await client.send(new ListStreamsCommand({ TableName: tableName }))
  const arn = Streams?.at(-1)?.StreamArn
  if (arn === undefined) throw new Error(`table ${tableName} has no stream`)
  for (const { ShardId, ParentShardId } of await listShards(client, arn))
    if (ShardId !== undefined && !shards.has(ShardId))
      shards.set(ShardId, { parent: ParentShardId, iterator: undefined, ended: false, keptAt: 0 })
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
  dependencies: Dependencies,
  StreamArn: string,
  ShardId: string,
  shard: ShardReader,
): Promise<number> {
  const { client, handle, clock } = dependencies
  const place = { StreamArn, ShardId }
  shard.iterator ??= await begin(dependencies, place)
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
    await keepPosition(dependencies, ShardId, shard, records)
  } else {
    await clock.sleep(AFTER_ERROR_MS)
    const again = { ...place, ShardIteratorType: 'AT_SEQUENCE_NUMBER', SequenceNumber: failed } as const
    shard.iterator = (await client.send(new GetShardIteratorCommand(again))).ShardIterator
  }
  return records.length
}

/** An iterator at the kept position; at the oldest record when there is none, or the stream has forgotten it. */
async function begin(
  { client, positions }: Dependencies,
  place: { readonly StreamArn: string; readonly ShardId: string },
): Promise<string | undefined> {
  const sequence = await positions?.read(place.ShardId)
  const oldest = { ...place, ShardIteratorType: 'TRIM_HORIZON' } as const
  if (sequence === undefined) return (await client.send(new GetShardIteratorCommand(oldest))).ShardIterator
  try {
    const after = { ...place, ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: sequence } as const
    return (await client.send(new GetShardIteratorCommand(after))).ShardIterator
  } catch (error) {
    if (!(error instanceof TrimmedDataAccessException)) throw error
    return (await client.send(new GetShardIteratorCommand(oldest))).ShardIterator
  }
}

/** Now and then, and never for records of positions alone: keeping one makes such a record. */
async function keepPosition(
  { positions, clock }: Dependencies,
  shardId: string,
  shard: ShardReader,
  records: readonly StreamRecord[],
): Promise<void> {
  const sequence = records.findLast((record) => record.dynamodb?.Keys?.['pk']?.S !== POSITIONS)?.dynamodb
    ?.SequenceNumber
  if (positions === undefined || sequence === undefined || clock.now() - shard.keptAt < KEEP_EVERY_MS) return
  await positions.keep(shardId, sequence)
  shard.keptAt = clock.now()
}

async function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(milliseconds, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
