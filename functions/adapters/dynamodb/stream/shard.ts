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
  /** Names the earliest record that failed. */
  readonly handle: (records: readonly StreamRecord[]) => Promise<{ readonly failed: readonly string[] }>
  /** Left out: it begins with the oldest record. */
  readonly positions?: StreamPositions
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn' | 'error'>
}

/** How far one shard is read. */
export interface ShardReader {
  readonly parent: string | undefined
  /** Where the next iterator begins; undefined: at the kept position. */
  place: Place | undefined
  iterator: string | undefined
  ended: boolean
  /** Milliseconds since 1970: records that failed are handed on again no earlier. */
  waitsUntil: number
  keptAt: number
  /** The oldest record was dropped before it was read, the last time. */
  overtaken: boolean
}

type Place = 'oldest' | { readonly after: string } | { readonly at: string }
/** One shard of one stream. */
interface Address {
  readonly StreamArn: string
  readonly ShardId: string
}

const AFTER_FAILURE_MS = 1_000
/** What a killed process handled after its last kept position is handled again by the next, which does no harm. */
const KEEP_EVERY_MS = 2_000
/** Records of one batch, as for the function on AWS. */
const BATCH = 100

/** Records that a stream has dropped cannot be read again, but the table holds what they were about. */
export const FORGOTTEN =
  'the stream has dropped records that may not have been handled: `npm run rebuild` makes the history index whole'

/** A shard that has not been read yet. */
export const newShard = (parent: string | undefined): ShardReader => ({
  parent,
  place: undefined,
  iterator: undefined,
  ended: false,
  waitsUntil: 0,
  keptAt: 0,
  overtaken: false,
})

/** Hands on what comes next in a shard; returns how many records it handed on. */
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

/** Undefined: the next poll begins again at the known place. */
async function nextPage(dependencies: ShardDependencies, address: Address, shard: ShardReader) {
  const { client } = dependencies
  shard.iterator ??= await begin(dependencies, address, shard)
  try {
    const page = await client.send(new GetRecordsCommand({ ShardIterator: shard.iterator, Limit: BATCH }))
    shard.overtaken = false
    return page
  } catch (error) {
    shard.iterator = undefined
    // Iterators live for 15 minutes.
    if (error instanceof ExpiredIteratorException) return undefined
    if (!(error instanceof TrimmedDataAccessException)) throw error
    if (shard.place !== 'oldest') beginWithOldest(dependencies, address, shard)
    // AWS may drop the oldest record between the two requests; DynamoDB Local says so of a new table that is being written.
    else if (shard.overtaken) throw error
    else shard.overtaken = true
    return undefined
  }
}

/** An iterator at the shard's place; at the oldest record if the stream no longer holds that place. */
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

/** Records are kept for 24 hours. Those between the place and the oldest are lost to this reader, which must be logged. */
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

/** Now and then, and never for records of positions alone: keeping one makes such a record. */
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
