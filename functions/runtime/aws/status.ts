import { CloudWatchClient } from '@aws-sdk/client-cloudwatch'
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs'
import { OpenSearchClient } from '@aws-sdk/client-opensearch'
import { metricMaxima } from '../../adapters/cloudwatch/latest-metric.ts'
import { newestErrors } from '../../adapters/cloudwatch/logged-errors.ts'
import type { LoggedError } from '../../adapters/cloudwatch/logged-errors.ts'
import { documentsOfTable, tableSize } from '../../adapters/dynamodb/table-size.ts'
import { countDocuments, domainHealth, isIndexOutdated } from '../../adapters/opensearch/index-state.ts'
import { OpenSearchError } from '../../adapters/opensearch/requests.ts'
import { countFailedRecords } from '../../adapters/s3/failed-batches.ts'
import { queueDepth } from '../../adapters/sqs/queue-depth.ts'
import type { QueueDepth } from '../../adapters/sqs/queue-depth.ts'
import type { Operations } from './operations.ts'

/**
 * Maximum size, in bytes, of a table whose documents are counted without `--count`. Counting reads the whole table.
 */
const COUNTED_UNASKED = 256 * 1024 * 1024
const METRICS_MS = 15 * 60_000
const ERRORS_MS = 60 * 60_000
const ERRORS_SHOWN = 5

/** The state of a deployed environment. Each field that could not be read is an `Error`. */
export interface Status {
  readonly environment: string
  readonly region: string
  readonly apiUrl: string
  readonly table: { readonly name: string; readonly items: number; readonly bytes: number } | Error
  readonly queue: QueueDepth | Error
  /** Age of the oldest hint, in seconds, in the latest minute with a measured value; undefined if there is no value. */
  readonly oldestSeconds: number | undefined | Error
  readonly deadLetters: QueueDepth | Error
  readonly indexDeadLetters: QueueDepth | Error
  readonly failedBatches: number | Error
  /** Maximum indexing lag of the last 15 minutes; undefined if nothing was indexed. */
  readonly indexLagMs: number | undefined | Error
  /**
   * The documents of the index; `count` is undefined before anything was indexed. `refused`: these credentials may not read the
   * index.
   */
  readonly documents: IndexDocuments | 'refused' | Error
  /** Upper limit of the documents that the table's messages can have; undefined if the table was not counted. */
  readonly documentsOfTable: number | undefined | Error
  /** Health of a managed search domain. */
  readonly domain: { readonly green: boolean; readonly text: string } | undefined | Error
  /** Errors of the last hour, newest first. */
  readonly errors: readonly LoggedError[] | Error
}

interface IndexDocuments {
  readonly count: number | undefined
  readonly tookMs: number
  /** Whether an earlier version made the index. Such an index lacks data that this version indexes. */
  readonly isOutdated: boolean
}

/**
 * Reads the whole status in parallel. Does not reject if one service fails. `count`: count the table regardless of its
 * size.
 */
export async function readStatus(operations: Operations, { count }: { readonly count: boolean }): Promise<Status> {
  const { deployment, clients, region } = operations
  const { environment, apiUrl, search } = deployment
  const opensearch = new OpenSearchClient({ region })
  const depth = (url: string) => attempt(() => queueDepth(clients.sqs, url))
  try {
    const size = await attempt(() => tableSize(clients.dynamodb, deployment.table))
    const small = !(size instanceof Error) && size.bytes <= COUNTED_UNASKED
    return await settled({
      environment: Promise.resolve(environment),
      region: Promise.resolve(region),
      apiUrl: Promise.resolve(apiUrl),
      table: Promise.resolve(size instanceof Error ? size : { name: deployment.table, ...size }),
      queue: depth(deployment.queueUrl),
      deadLetters: depth(deployment.deadLetterUrl),
      indexDeadLetters: depth(deployment.indexDeadLetterUrl),
      failedBatches: attempt(() => countFailedRecords({ client: clients.s3, bucket: deployment.failuresBucket })),
      documents: attempt(() => documentsOfIndex(operations)),
      documentsOfTable: attempt(async () =>
        count || small ? documentsOfTable(clients.dynamodb, deployment.table) : undefined,
      ),
      domain: attempt(async () => (search.kind === 'domain' ? domainHealth(opensearch, search.name) : undefined)),
      errors: attempt(() => errorsOf(operations)),
      ...metricsOf(operations),
    })
  } finally {
    opensearch.destroy()
  }
}

async function documentsOfIndex({ clients, index }: Operations): Promise<IndexDocuments | 'refused'> {
  const begun = performance.now()
  try {
    const count = await countDocuments(clients.opensearch, index)
    const tookMs = performance.now() - begun
    return { count, tookMs, isOutdated: await isIndexOutdated(clients.opensearch, index) }
  } catch (error) {
    if (error instanceof OpenSearchError && error.status === 403) return 'refused'
    throw error
  }
}

async function errorsOf({ deployment, region, clock }: Operations): Promise<readonly LoggedError[]> {
  const logs = new CloudWatchLogsClient({ region })
  try {
    const now = clock.now()
    return await newestErrors(logs, deployment.logGroups, { since: now - ERRORS_MS, now, limit: ERRORS_SHOWN })
  } finally {
    logs.destroy()
  }
}

function metricsOf({ deployment, region, clock }: Operations) {
  const cloudwatch = new CloudWatchClient({ region })
  const times = { since: clock.now() - METRICS_MS, now: clock.now() }
  const lag = {
    namespace: 'Tooltrail',
    name: 'IndexLag',
    dimensions: { service: 'tooltrail', environment: deployment.environment },
  }
  const age = {
    namespace: 'AWS/SQS',
    name: 'ApproximateAgeOfOldestMessage',
    dimensions: { QueueName: new URL(deployment.queueUrl).pathname.split('/').at(-1) ?? '' },
  }
  return {
    indexLagMs: attempt(async () => {
      const lags = await metricMaxima(cloudwatch, lag, times)
      return lags.length === 0 ? undefined : Math.max(...lags)
    }),
    oldestSeconds: attempt(async () => (await metricMaxima(cloudwatch, age, times))[0]),
  }
}

type Promised<Whole> = { readonly [Field in keyof Whole]: Promise<Whole[Field]> }

async function settled(parts: Promised<Status>): Promise<Status> {
  const fields = await Promise.all(Object.entries(parts).map(async ([name, part]) => [name, await part] as const))
  return Object.fromEntries(fields) as unknown as Status
}

async function attempt<Found>(read: () => Promise<Found>): Promise<Found | Error> {
  try {
    return await read()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
