import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import { z } from 'zod'
import { matchesPattern } from './event-pattern.ts'
import type { FunctionPool } from './function-pool.ts'
import { MAX_PAYLOAD_BYTES } from './runtime-api.ts'
import type { Outcome } from './runtime-api.ts'
import type { StreamRecord } from './stream-records.ts'

/** The properties of a DynamoDB stream's mapping. An unknown property is refused. */
export const StreamMappingProperties = z.strictObject({
  FunctionName: z.string(),
  EventSourceArn: z.string(),
  StartingPosition: z.literal('TRIM_HORIZON'),
  BatchSize: z.int().default(100),
  MaximumBatchingWindowInSeconds: z.number().default(0),
  FilterCriteria: z.object({ Filters: z.array(z.object({ Pattern: z.string() })) }).default({ Filters: [] }),
  BisectBatchOnFunctionError: z.boolean().default(false),
  MaximumRetryAttempts: z.int().default(-1),
  MaximumRecordAgeInSeconds: z.int().default(-1),
  FunctionResponseTypes: z.array(z.string()).default([]),
  DestinationConfig: z.object({ OnFailure: z.object({ Destination: z.string() }) }).optional(),
  MetricsConfig: z.unknown().optional(),
  Tags: z.unknown().optional(),
})
type Properties = z.output<typeof StreamMappingProperties>

/** Pauses in milliseconds. Lambda polls four times a second. AWS does not document the pauses between attempts. */
const POLL_MS = 250
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 1_000

interface Options {
  readonly properties: Properties
  readonly pool: Pick<FunctionPool, 'invoke'>
  readonly stream: { readonly shard: string; next(): Promise<readonly StreamRecord[]> }
  readonly s3: S3Client
  /** Adds the fields of a record that the engine does not set. */
  readonly complete: (record: StreamRecord) => StreamRecord
}

/** Invokes a function with the records of a stream in order, like Lambda's event source mapping. */
export function startStreamMapping(options: Options): { stop(): Promise<void> } {
  const { properties, stream, complete } = options
  const patterns = properties.FilterCriteria.Filters.map(({ Pattern }) => JSON.parse(Pattern) as unknown)
  const passes = (record: StreamRecord): boolean =>
    patterns.length === 0 || patterns.some((pattern) => matchesPattern(pattern, record))
  const stopping = new AbortController()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const records = (await stream.next()).map(complete).filter(passes)
      for (const batch of batches(records, properties.BatchSize)) await handOff(options, batch, stopping.signal)
      if (records.length === 0) await sleep(POLL_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const done = run()
  done.catch(() => undefined)
  return {
    async stop() {
      stopping.abort()
      await done
    },
  }
}

/** Splits records into batches of at most `size` that fit into an event. */
function batches(records: readonly StreamRecord[], size: number): StreamRecord[][] {
  const made: StreamRecord[][] = []
  let bytes = 0
  for (const record of records) {
    const more = Buffer.byteLength(JSON.stringify(record)) + 1
    const last = made.at(-1)
    if (last === undefined || last.length >= size || bytes + more > MAX_PAYLOAD_BYTES - 100) {
      made.push([record])
      bytes = more
    } else {
      last.push(record)
      bytes += more
    }
  }
  return made
}

/**
 * Retries a batch, or its remaining records, until all are done. A batch that is too old or was tried too often is sent to the
 * destination.
 */
async function handOff(options: Options, batch: readonly StreamRecord[], signal: AbortSignal): Promise<void> {
  const { properties, pool } = options
  let left = batch
  for (let attempt = 0; left.length > 0 && !signal.aborted; attempt++) {
    const outcome = await pool.invoke({ Records: left })
    const failed = firstFailure(properties, left, outcome)
    if (failed === undefined) return
    const rest = left.slice(failed)
    // The records before the first failure are done. The rest is a new batch.
    if (failed > 0) attempt = 0
    left = rest
    const tooOften = properties.MaximumRetryAttempts >= 0 && attempt >= properties.MaximumRetryAttempts
    if (tooOften || isTooOld(properties, rest)) return giveUp(options, rest, outcome, attempt + 1)
    await sleep(Math.min(FIRST_RETRY_MS * 2 ** attempt, MAX_RETRY_MS))
    if (properties.BisectBatchOnFunctionError && rest.length > 1) {
      const middle = Math.ceil(rest.length / 2)
      await handOff(options, rest.slice(0, middle), signal)
      return handOff(options, rest.slice(middle), signal)
    }
  }
}

/** Index of the first record to retry; undefined if all are done. */
function firstFailure(properties: Properties, batch: readonly StreamRecord[], outcome: Outcome): number | undefined {
  if (!outcome.ok) return 0
  if (!properties.FunctionResponseTypes.includes('ReportBatchItemFailures')) return undefined
  const reported = JSON.parse(outcome.body.toString() || 'null') as {
    batchItemFailures?: readonly { itemIdentifier?: string }[]
  } | null
  const places = (reported?.batchItemFailures ?? []).map(({ itemIdentifier }) =>
    batch.findIndex(({ dynamodb }) => dynamodb.SequenceNumber === itemIdentifier),
  )
  if (places.length === 0) return undefined
  // An unknown identifier counts as a failure of the whole batch.
  return Math.max(0, Math.min(...places))
}

const isTooOld = ({ MaximumRecordAgeInSeconds: most }: Properties, [first]: readonly StreamRecord[]): boolean =>
  most >= 0 && Date.now() / 1_000 - (first?.dynamodb.ApproximateCreationDateTime ?? 0) > most

/**
 * Writes a failed batch to its S3 destination, with the complete records. Throws for any other destination, which would get
 * only the position of the records.
 */
async function giveUp(
  { properties, s3, stream }: Options,
  batch: readonly StreamRecord[],
  outcome: Outcome,
  attempts: number,
): Promise<void> {
  const bucket = /^arn:aws:s3:::(.+)$/.exec(properties.DestinationConfig?.OnFailure.Destination ?? '')?.[1]
  if (bucket === undefined) throw new Error('the mapping has no destination in S3 for what fails')
  const now = new Date()
  const day = now.toISOString().slice(0, 10).replaceAll('-', '/')
  const sequence = (record: StreamRecord | undefined): string | undefined => record?.dynamodb.SequenceNumber
  const body = {
    requestContext: {
      requestId: randomUUID(),
      functionArn: properties.FunctionName,
      condition: outcome.ok ? 'RetryAttemptsExhausted' : outcome.errorType,
      approximateInvokeCount: attempts,
    },
    version: '1.0',
    timestamp: now.toISOString(),
    DDBStreamBatchInfo: {
      shardId: stream.shard,
      startSequenceNumber: sequence(batch[0]),
      endSequenceNumber: sequence(batch.at(-1)),
      batchSize: batch.length,
      streamArn: properties.EventSourceArn,
    },
    payload: JSON.stringify({ Records: batch }),
  }
  const stamp = now.toISOString().slice(0, 19).replaceAll(':', '.')
  const Key = `aws/lambda/${randomUUID()}/${stream.shard}/${day}/${stamp}-${randomUUID()}`
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: JSON.stringify(body) }))
}
