import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams'
import { createTableIfAbsent } from '../../adapters/dynamodb/create-table.ts'
import { createDynamoKeyStore } from '../../adapters/dynamodb/key-store.ts'
import { createDynamoMessageRows } from '../../adapters/dynamodb/stream/message-rows.ts'
import { startStreamPoller } from '../../adapters/dynamodb/stream/poller.ts'
import { createStreamPositions } from '../../adapters/dynamodb/stream/positions.ts'
import { TimedOut, withinTime } from '../../domain/time/time-limit.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createModels } from '../../adapters/models/models.ts'
import { createOpenSearchClient } from '../../adapters/opensearch/client.ts'
import { createOpenSearchHistoryBuilder } from '../../adapters/opensearch/history-builder.ts'
import { createOpenSearchHistoryIndex } from '../../adapters/opensearch/history-index.ts'
import { createOpenSearchHistoryWriter } from '../../adapters/opensearch/history-writer.ts'
import { createBucketIfAbsent } from '../../adapters/s3/create-bucket.ts'
import { createS3OutputStore } from '../../adapters/s3/output-store.ts'
import { createQueueIfAbsent } from '../../adapters/sqs/create-queue.ts'
import { createSqsDeadLetterSink } from '../../adapters/sqs/queue-messages.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { rebuildIndex } from '../../history/rebuild.ts'
import { clientOptions, openDynamo, openSqs, signingOf } from './clients.ts'
import { createStreamHandler } from './indexing.ts'
import { openS3 } from './outputs.ts'
import { createAwsStores } from './stores.ts'
import { SettingsError } from '../settings/settings-error.ts'
import type { Settings } from '../settings/config.ts'
import { createLogger } from '../logger.ts'
import type { OpenPorts } from '../program.ts'
import { writeToTerminal } from '../terminal-output.ts'

/** Time limit for each store to create missing resources when the program starts, in milliseconds. */
const START_MS = 30_000

type AwsSettings = NonNullable<Settings['aws']>

/**
 * Opens all ports on DynamoDB, S3, SQS and OpenSearch, or on engines with their protocols. On AWS, the stacks create
 * the table, the bucket and the queues, and Lambda polls the table's stream. If an endpoint is set, the program creates
 * the resources there, and polls the stream itself.
 */
export async function openAwsPorts(
  settings: Pick<Settings, 'logLevel' | 'modelSettings'> & { readonly aws: AwsSettings },
  clock = createSystemClock(),
): Promise<OpenPorts> {
  const { aws } = settings
  const logger = createLogger(settings.logLevel, (line) => writeToTerminal('stderr', `${line}\n`))
  const clients = openClients(aws)
  const { queueUrl, indexDeadLetterUrl } = await prepare(aws, clients)
  const { rows, ports } = createAwsStores({
    ...aws,
    ...clients,
    outputs: createS3OutputStore({ client: clients.s3, bucket: aws.bucket }),
    clock,
  })
  const { sessions, reader, deletion, outputs } = ports
  const messageRows = createDynamoMessageRows(rows)
  const indexDeadLetters = createSqsDeadLetterSink({ client: clients.sqs, queueUrl: indexDeadLetterUrl })
  const search = { client: clients.search, alias: aws.index, indexDeadLetters, clock }
  const report = (error: unknown): void => logger.warn('the run queue failed, trying again', { error: String(error) })
  const queue = createSqsRunQueue({ client: clients.sqs, queueUrl, clock, report })
  const writer = createOpenSearchHistoryWriter(search)
  const handle = createStreamHandler({
    ...{ sessions, reader, rows: messageRows, deletion, outputs, writer },
    ...{ indexDeadLetters, queue, clock, logger },
  })
  const positions = createStreamPositions({ client: clients.dynamodb, tableName: aws.table })
  const stream = { client: clients.streams, tableName: aws.table, positions }
  const poller = startStreamPoller({ ...stream, handle, clock, logger })
  return {
    ...ports,
    keys: createDynamoKeyStore(rows),
    index: createOpenSearchHistoryIndex(search),
    queue,
    models: createModels({ settings: settings.modelSettings }),
    logger,
    async rebuildHistory() {
      const builder = createOpenSearchHistoryBuilder(search)
      const indexing = { sessions, reader, outputs, indexDeadLetters }
      return {
        ...(await rebuildIndex({ ...indexing, rows: messageRows, builder, clock })),
        removed: 0,
      }
    },
    async close() {
      await poller.stop()
      for (const client of [clients.dynamodb, clients.streams, clients.s3, clients.sqs]) client.destroy()
      await clients.search.close()
    },
  }
}

type Clients = ReturnType<typeof openClients>

function openClients(aws: AwsSettings) {
  const dynamodb = openDynamo(aws)
  const { opensearch: endpoint } = aws.endpoints
  return {
    dynamodb,
    streams: new DynamoDBStreamsClient(clientOptions(aws, aws.endpoints.dynamodb)),
    s3: openS3(aws),
    sqs: openSqs(aws),
    search: createOpenSearchClient({
      endpoint,
      ...signingOf(endpoint, aws.region, () => dynamodb.config.credentials()),
    }),
  }
}

async function prepare(aws: AwsSettings, clients: Clients): Promise<{ queueUrl: string; indexDeadLetterUrl: string }> {
  const { dynamodb, s3, sqs } = aws.endpoints
  if (dynamodb !== undefined)
    await answered(`DynamoDB at ${dynamodb}`, () => createTableIfAbsent(clients.dynamodb, aws.table))
  if (s3 !== undefined) await answered(`S3 at ${s3}`, () => createBucketIfAbsent(clients.s3, aws.bucket))
  const queue = (name: string): Promise<string> =>
    answered(`SQS at ${sqs ?? aws.region}`, () => createQueueIfAbsent(clients.sqs, `${aws.table}-${name}`))
  return {
    queueUrl: aws.queueUrl ?? (await queue('runs')),
    indexDeadLetterUrl: aws.indexDeadLetterUrl ?? (await queue('poison')),
  }
}

/**
 * Does the `work` that a store needs at the start of the program, and returns the result. Rejects with `SettingsError`
 * if the store accepts connections but does not respond to requests.
 */
async function answered<Result>(store: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await withinTime(START_MS, store, work)
  } catch (error) {
    if (!(error instanceof TimedOut) && !(error instanceof Error && error.name === 'TimeoutError')) throw error
    throw new SettingsError(`${store} does not respond: is it the right address?`, { cause: error })
  }
}
