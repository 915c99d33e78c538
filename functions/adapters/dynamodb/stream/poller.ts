import { definedFields } from '../../../domain/defined-fields.ts'
import { steadyTime } from '../../../domain/time/steady-time.ts'
import { DescribeStreamCommand, ListStreamsCommand } from '@aws-sdk/client-dynamodb-streams'
import type { DynamoDBStreamsClient, Shard } from '@aws-sdk/client-dynamodb-streams'
import type { Clock } from '../../../ports/clock.ts'
import { FORGOTTEN, newShard, readShard } from './shard.ts'
import type { ShardDependencies, ShardReader } from './shard.ts'

/**
 * Replaces Lambda's stream trigger. It passes on the records of a stream in order, and retries from the first record
 * that failed.
 */
export interface StreamPoller {
  /** Stops polling. Resolves when no record is being handled. */
  stop(): Promise<void>
}

/**
 * Wait between polls that find nothing, doubled each time. OpenSearch makes documents searchable after a second, so a
 * search finds a change within two seconds.
 */
const FIRST_IDLE_MS = 200
const MAX_IDLE_MS = 800
/** Wait after an error, doubled each time. */
const FIRST_ERROR_MS = 1_000
const MAX_ERROR_WAIT_MS = 10_000
/**
 * Interval at which the shards are listed. They change every few hours, and AWS allows ten such requests per second and
 * account. The successors of an ended shard are listed at once.
 */
const LIST_EVERY_MS = 10_000

/**
 * Polls the stream of a table from the stored positions, on a machine without Lambda. Shards are read in parallel, each
 * after its parent. Several processes each read the whole stream; indexing twice does no harm.
 */
export function startStreamPoller(given: ShardDependencies): StreamPoller {
  const now = steadyTime(() => given.clock.now())
  const clock: Clock = { now, sleep: (milliseconds, signal) => given.clock.sleep(milliseconds, signal) }
  const dependencies = { ...given, clock }
  const { logger, tableName } = given
  const stopping = new AbortController()
  const stream: Stream = { arn: undefined, shards: new Map(), listedAt: undefined }
  const run = async (): Promise<void> => {
    let idle = FIRST_IDLE_MS
    let failing = FIRST_ERROR_MS
    while (!stopping.signal.aborted) {
      try {
        const read = await pollOnce(dependencies, stream)
        failing = FIRST_ERROR_MS
        if (read > 0) {
          idle = FIRST_IDLE_MS
          continue
        }
        await pause(clock, idle, stopping.signal)
        idle = Math.min(2 * idle, MAX_IDLE_MS)
      } catch (error) {
        logger.error('reading the stream failed, nothing is indexed until it works again', error, { table: tableName })
        stream.listedAt = undefined
        await pause(clock, failing, stopping.signal)
        failing = Math.min(2 * failing, MAX_ERROR_WAIT_MS)
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

interface Stream {
  arn: string | undefined
  readonly shards: Map<string, ShardReader>
  /** Time at which the shards were last listed; undefined if they must be listed first. */
  listedAt: number | undefined
}

/** Reads the available records and passes them on. Returns how many were handled. */
async function pollOnce(dependencies: ShardDependencies, stream: Stream): Promise<number> {
  const { clock } = dependencies
  if (stream.listedAt === undefined || clock.now() - stream.listedAt >= LIST_EVERY_MS) await list(dependencies, stream)
  const { arn = '', shards } = stream
  const ready = [...shards].filter(
    ([, { ended, parent, waitsUntil }]) =>
      !ended && clock.now() >= waitsUntil && (parent === undefined || (shards.get(parent)?.ended ?? true)),
  )
  const outcomes = await Promise.allSettled(
    ready.map(([ShardId, shard]) => readShard(dependencies, { StreamArn: arn, ShardId }, shard)),
  )
  if (ready.some(([, { ended }]) => ended)) stream.listedAt = undefined
  let count = 0
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') throw outcome.reason
    count += outcome.value
  }
  return count
}

/** Finds the table's stream and its shards. A table that was recreated with its old name has another stream. */
async function list({ client, tableName, clock, positions, logger }: ShardDependencies, stream: Stream): Promise<void> {
  const { Streams = [] } = await client.send(new ListStreamsCommand({ TableName: tableName }))
  const arn = Streams.toSorted((left, right) => ((left.StreamLabel ?? '') < (right.StreamLabel ?? '') ? -1 : 1)).at(
    -1,
  )?.StreamArn
  if (arn === undefined) throw new Error(`table ${tableName} has no stream`)
  const isNew = arn !== stream.arn
  if (isNew) stream.shards.clear()
  const listed = new Map<string, Shard>()
  for (const shard of await listShards(client, arn)) if (shard.ShardId !== undefined) listed.set(shard.ShardId, shard)
  for (const id of stream.shards.keys()) if (!listed.has(id)) stream.shards.delete(id)
  for (const [id, { ParentShardId }] of listed)
    if (!stream.shards.has(id)) stream.shards.set(id, newShard(ParentShardId))
  if (isNew && (await positions?.areAllBehind([...listed.keys()])) === true)
    logger.warn(FORGOTTEN, { table: tableName })
  stream.arn = arn
  stream.listedAt = clock.now()
}

async function listShards(client: DynamoDBStreamsClient, StreamArn: string): Promise<Shard[]> {
  const shards: Shard[] = []
  let after: string | undefined
  do {
    const { StreamDescription: page } = await client.send(
      new DescribeStreamCommand({ StreamArn, ...definedFields({ ExclusiveStartShardId: after }) }),
    )
    shards.push(...(page?.Shards ?? []))
    after = page?.LastEvaluatedShardId
  } while (after !== undefined)
  return shards
}

async function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(milliseconds, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
