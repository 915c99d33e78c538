import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams'
import { S3Client } from '@aws-sdk/client-s3'
import { SQSClient } from '@aws-sdk/client-sqs'
import { createTableIfAbsent } from '../adapters/dynamodb/create-table.ts'
import { createDynamoKeyStore } from '../adapters/dynamodb/key-store.ts'
import { createDynamoLogReader } from '../adapters/dynamodb/log-reader.ts'
import { createDynamoMessageRows } from '../adapters/dynamodb/message-rows.ts'
import { createDynamoRowRecords } from '../adapters/dynamodb/row-records.ts'
import { createDynamoRunInbox } from '../adapters/dynamodb/run-inbox.ts'
import { createDynamoRunLease } from '../adapters/dynamodb/run-lease.ts'
import { createDynamoRunLog } from '../adapters/dynamodb/run-log.ts'
import { createDynamoSessionDeletion } from '../adapters/dynamodb/session-deletion.ts'
import { createDynamoSessionJanitor } from '../adapters/dynamodb/session-janitor.ts'
import { createDynamoSessionStore } from '../adapters/dynamodb/session-store.ts'
import { startStreamPoller } from '../adapters/dynamodb/stream-poller.ts'
import { createSystemClock } from '../adapters/memory/system-clock.ts'
import { createModels } from '../adapters/models/models.ts'
import { createOpenSearchClient } from '../adapters/opensearch/client.ts'
import { createOpenSearchHistoryBuilder } from '../adapters/opensearch/history-builder.ts'
import { createOpenSearchHistoryIndex } from '../adapters/opensearch/history-index.ts'
import { createOpenSearchHistoryWriter } from '../adapters/opensearch/history-writer.ts'
import { createBucketIfAbsent } from '../adapters/s3/create-bucket.ts'
import { createS3OutputStore } from '../adapters/s3/output-store.ts'
import { createQueueIfAbsent } from '../adapters/sqs/create-queue.ts'
import { createSqsPoisonSink } from '../adapters/sqs/poison-sink.ts'
import { createSqsRunQueue } from '../adapters/sqs/run-queue.ts'
import { createIndexer } from '../agent/indexer.ts'
import { rebuildIndex } from '../agent/rebuild-index.ts'
import { redactSecrets } from '../log/redact.ts'
import type { Settings } from './config.ts'
import { createLogger } from './logger.ts'
import type { OpenPorts } from './program.ts'

/** Milliseconds after which a request to a store has failed. */
const REQUEST_MS = 10_000

type AwsSettings = NonNullable<Settings['aws']>

/**
 * Everything on DynamoDB, S3, SQS and OpenSearch, or on engines that speak their protocols. Table, bucket and queues are made
 * where an endpoint is named; on AWS the stacks make them. The table's stream is polled here, as Lambda does on AWS.
 */
export async function openAwsPorts(
  settings: Pick<Settings, 'logLevel' | 'modelSettings'> & { readonly aws: AwsSettings },
  clock = createSystemClock(),
): Promise<OpenPorts> {
  const { aws } = settings
  const logger = createLogger(settings.logLevel, (line) => process.stderr.write(`${line}\n`))
  const clients = openClients(aws)
  const { queueUrl, poisonUrl } = await prepare(aws, clients)
  const outputs = createS3OutputStore({ client: clients.s3, bucket: aws.bucket })
  const rows = { client: clients.dynamodb, tableName: aws.table, outputs, clock }
  const sessions = createDynamoSessionStore(rows)
  const poison = createSqsPoisonSink({ client: clients.sqs, queueUrl: poisonUrl })
  const search = { client: clients.search, alias: aws.index, poison, clock }
  const indexing = { sessions, outputs, poison, redact: redactSecrets }
  const writer = createOpenSearchHistoryWriter(search)
  const handle = createIndexer({ ...indexing, writer, records: createDynamoRowRecords({ outputs }), logger })
  const poller = startStreamPoller({ client: clients.streams, tableName: aws.table, handle, clock, logger })
  const report = (error: unknown): void => logger.warn('the run queue failed, trying again', { error: String(error) })
  return {
    sessions,
    inbox: createDynamoRunInbox(rows),
    lease: createDynamoRunLease(rows),
    log: createDynamoRunLog(rows),
    reader: createDynamoLogReader(rows),
    janitor: createDynamoSessionJanitor(rows),
    deletion: createDynamoSessionDeletion(rows),
    keys: createDynamoKeyStore(rows),
    outputs,
    index: createOpenSearchHistoryIndex(search),
    queue: createSqsRunQueue({ client: clients.sqs, queueUrl, clock, report }),
    models: createModels({ settings: settings.modelSettings }),
    clock,
    logger,
    async rebuildHistory() {
      const builder = createOpenSearchHistoryBuilder(search)
      return {
        ...(await rebuildIndex({ ...indexing, rows: createDynamoMessageRows(rows), builder, clock })),
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

function openClients({ region, credentials, endpoints }: AwsSettings) {
  const common = {
    region,
    requestHandler: { requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
    ...(credentials === undefined ? {} : { credentials }),
  }
  const at = (endpoint: string | undefined) => (endpoint === undefined ? common : { ...common, endpoint })
  // The adapter repeats its requests itself: repeating them here as well would multiply the waits.
  const dynamodb = new DynamoDBClient({ ...at(endpoints.dynamodb), maxAttempts: 1 })
  const service = /\.(aoss|es)\./.exec(new URL(endpoints.opensearch).hostname)?.[1] as 'aoss' | 'es' | undefined
  const signing =
    service === undefined ? {} : { signing: { region, service, credentials: () => dynamodb.config.credentials() } }
  return {
    dynamodb,
    streams: new DynamoDBStreamsClient(at(endpoints.dynamodb)),
    s3: new S3Client({ ...at(endpoints.s3), forcePathStyle: endpoints.s3 !== undefined }),
    // A poll waits up to 20 s for a message, so it must not be cut off before.
    sqs: new SQSClient({ ...at(endpoints.sqs), requestHandler: { requestTimeout: 3 * REQUEST_MS } }),
    search: createOpenSearchClient({ endpoint: endpoints.opensearch, ...signing }),
  }
}

async function prepare(aws: AwsSettings, clients: Clients): Promise<{ queueUrl: string; poisonUrl: string }> {
  if (aws.endpoints.dynamodb !== undefined) await createTableIfAbsent(clients.dynamodb, aws.table)
  if (aws.endpoints.s3 !== undefined) await createBucketIfAbsent(clients.s3, aws.bucket)
  return {
    queueUrl: aws.queueUrl ?? (await createQueueIfAbsent(clients.sqs, `${aws.table}-runs`)),
    poisonUrl: aws.poisonUrl ?? (await createQueueIfAbsent(clients.sqs, `${aws.table}-poison`)),
  }
}
