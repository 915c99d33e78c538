import {
  ExpiredIteratorException,
  GetRecordsCommand,
  GetShardIteratorCommand,
  TrimmedDataAccessException,
} from '@aws-sdk/client-dynamodb-streams'
import type { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams'
import type { Clock } from '../../../ports/clock.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { StreamRecord } from './row-records.ts'
import { POSITIONS, type StreamPositions } from './positions.ts'

export interface ShardDependencies {
  readonly client: DynamoDBStreamsClient
  readonly tableName: string
  /** Handles records. `failed` has the sequence number of the earliest record that failed, or is empty. */
  readonly handle: (records: readonly StreamRecord[]) => Promise<{ readonly failed: readonly string[] }>
  /** Stored positions, from which reading continues. If absent, reading begins with the oldest record. */
  readonly positions?: StreamPositions
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn' | 'error'>
}

/** The reading state of one shard. */
export interface ShardReader {
  readonly parent: string | undefined
  /** Position for the next iterator; undefined to read the stored position first. */
  place: Place | undefined
  iterator: string | undefined
  ended: boolean
  /** Failed records are passed on again no earlier than this time, in milliseconds since 1970. */
  waitsUntil: number
  keptAt: number
  /** Whether the last attempt failed because the oldest record was dropped before it was read. */
  overtaken: boolean
}

type Place = 'oldest' | { readonly after: string } | { readonly at: string }
/** Identifies one shard of one stream. */
interface Address {
  readonly StreamArn: string
  readonly ShardId: string
}

const AFTER_FAILURE_MS = 1_000
/**
 * Interval at which positions are stored. After a crash, the records that follow the last stored position are handled
 * again, which does no harm.
 */
const KEEP_EVERY_MS = 2_000
/** Records per batch. The function on AWS has the same batch size. */
const BATCH = 100

/**
 * Warning about records that the stream has dropped. They cannot be read again, but the table still has the rows that
 * they describe.
 */
export const FORGOTTEN =
  'the stream has dropped records that may not have been handled: `npm run rebuild` makes the history index whole'

/** Creates the state of a shard that was not read yet. */
export const newShard = (parent: string | undefined): ShardReader => ({
  parent,
  place: undefined,
  iterator: undefined,
  ended: false,
  waitsUntil: 0,
  keptAt: 0,
  overtaken: false,
})

/** Passes on the next records of a shard. Returns how many were handled; 0 if a record failed. */
export async function readShard(
  dependencies: ShardDependencies,
  address: Address,
  shard: ShardReader,
): Promise<number> {
  const page = await nextPage(dependencies, address, shard)
  if (page === undefined) return 0
  const records: readonly StreamRecord[] = page.Records ?? []
  const [failed] = records.length === 0 ? [] : (await dependencies.handle(records)).failed
  if (failed !== undefined) {
    shard.place = { at: failed }
    shard.iterator = undefined
    shard.waitsUntil = dependencies.clock.now() + AFTER_FAILURE_MS
    return 0
  }
  const last = records.at(-1)?.dynamodb?.SequenceNumber
  if (last !== undefined) shard.place = { after: last }
  shard.iterator = page.NextShardIterator
  shard.ended = page.NextShardIterator === undefined
  await keepPosition(dependencies, address.ShardId, shard, records)
  return records.length
}

/** Returns the next page. Returns undefined if the iterator is invalid; the next poll then creates a new one. */
async function nextPage(dependencies: ShardDependencies, address: Address, shard: ShardReader) {
  const { client } = dependencies
  shard.iterator ??= await begin(dependencies, address, shard)
  try {
    const page = await client.send(new GetRecordsCommand({ ShardIterator: shard.iterator, Limit: BATCH }))
    shard.overtaken = false
    return page
  } catch (error) {
    shard.iterator = undefined
    // Iterators expire after 15 minutes.
    if (error instanceof ExpiredIteratorException) return undefined
    if (!(error instanceof TrimmedDataAccessException)) throw error
    if (shard.place !== 'oldest') beginWithOldest(dependencies, address, shard)
    // AWS may drop the oldest record after the iterator was requested and before records are requested. DynamoDB Local
    // reports the same error for a new table during writes.
    else if (shard.overtaken) throw error
    else shard.overtaken = true
    return undefined
  }
}

/** Returns an iterator at the shard's position, or at the oldest record if the stream has dropped that position. */
async function begin(
  dependencies: ShardDependencies,
  address: Address,
  shard: ShardReader,
): Promise<string | undefined> {
  const { client, positions } = dependencies
  if (shard.place === undefined) {
    const kept = await positions?.read(address.ShardId)
    shard.place = kept === undefined ? 'oldest' : { after: kept }
  }
  try {
    return await iteratorAt(client, address, shard.place)
  } catch (error) {
    if (!(error instanceof TrimmedDataAccessException) || shard.place === 'oldest') throw error
    return iteratorAt(client, address, beginWithOldest(dependencies, address, shard))
  }
}

/**
 * Logs that records may be lost, and continues at the oldest record. Streams keep records for 24 hours. This reader has
 * missed the records between its position and the oldest record.
 */
function beginWithOldest({ logger, tableName }: ShardDependencies, { ShardId }: Address, shard: ShardReader): 'oldest' {
  logger.warn(FORGOTTEN, { table: tableName, shard: ShardId })
  shard.place = 'oldest'
  return 'oldest'
}

async function iteratorAt(client: DynamoDBStreamsClient, address: Address, place: Place): Promise<string | undefined> {
  const from =
    place === 'oldest'
      ? ({ ShardIteratorType: 'TRIM_HORIZON' } as const)
      : 'after' in place
        ? ({ ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: place.after } as const)
        : ({ ShardIteratorType: 'AT_SEQUENCE_NUMBER', SequenceNumber: place.at } as const)
  return (await client.send(new GetShardIteratorCommand({ ...address, ...from }))).ShardIterator
}

/**
 * Stores the position at intervals. Storing a position adds a record to the stream. Such records are ignored;
 * otherwise, each would cause another one.
 */
async function keepPosition(
  { positions, clock }: ShardDependencies,
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
