import type { Context, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import type { StreamRecord } from '../../adapters/dynamodb/stream/row-records.ts'
import { createDynamoSessionDeletion } from '../../adapters/dynamodb/log/sessions/deletion/session-deletion.ts'
import { createDynamoLogReader } from '../../adapters/dynamodb/log/messages/log-reader.ts'
import { createDynamoMessageRows } from '../../adapters/dynamodb/stream/message-rows.ts'
import { createDynamoSessionStore } from '../../adapters/dynamodb/log/sessions/session-store.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createOpenSearchClient } from '../../adapters/opensearch/client.ts'
import { createOpenSearchHistoryWriter } from '../../adapters/opensearch/history-writer.ts'
import { createSqsDeadLetterSink } from '../../adapters/sqs/queue-messages.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { openDynamo, openSqs, signingOf } from '../aws/clients.ts'
import { createStreamHandler } from '../aws/indexing.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import type { IndexerSettings } from '../settings/function-settings.ts'
import { createLambdaLogger } from './logger.ts'
import { createFailureMetric, createLagMetric } from './metrics.ts'

/** Time kept free at the end of the invocation to finish writes in progress. */
const MARGIN_MS = 30_000

/**
 * Handles batches of the table's stream. After a failure or when time runs out, the stream continues at the first
 * unprocessed record.
 */
export function createIndexerHandler(
  settings: IndexerSettings,
): (event: DynamoDBStreamEvent, context: Context) => Promise<DynamoDBBatchResponse> {
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, settings.environment)
  const lag = createLagMetric(settings.environment)
  const countFailure = createFailureMetric(settings.environment, 'FailedBatches')
  const handle = createStreamHandler({ ...openStores(settings, clock, logger), clock, logger })
  return async ({ Records: records }, context) => {
    logger.begin(context)
    // Lambda passes binary values as text, but this table has no binary values.
    const signal = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - MARGIN_MS))
    const { failed } = await handle(records as readonly StreamRecord[], signal)
    if (failed.length > 0) countFailure()
    const oldest = Math.min(...records.flatMap(createdAt))
    if (Number.isFinite(oldest)) lag(Math.max(0, clock.now() - oldest))
    return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) }
  }
}

/** Returns the creation time in milliseconds since 1970. The stream has seconds. */
const createdAt = ({ dynamodb }: DynamoDBRecord): number[] =>
  dynamodb?.ApproximateCreationDateTime === undefined ? [] : [dynamodb.ApproximateCreationDateTime * 1000]

function openStores(
  settings: IndexerSettings,
  clock: ReturnType<typeof createSystemClock>,
  logger: ReturnType<typeof createLambdaLogger>,
) {
  const { region, search } = settings
  const dynamodb = openDynamo(settings)
  const sqs = openSqs(settings)
  const outputs = openOutputsLate(settings)
  const rows = { client: dynamodb, tableName: settings.table, outputs, clock }
  const indexDeadLetters = createSqsDeadLetterSink({ client: sqs, queueUrl: settings.indexDeadLetterUrl })
  const signing = signingOf(search.endpoint, region, () => dynamodb.config.credentials())
  const client = createOpenSearchClient({ endpoint: search.endpoint, ...signing })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  return {
    sessions: createDynamoSessionStore(rows),
    reader: createDynamoLogReader(rows),
    rows: createDynamoMessageRows(rows),
    deletion: createDynamoSessionDeletion(rows),
    outputs,
    indexDeadLetters,
    writer: createOpenSearchHistoryWriter({
      client,
      alias: search.index,
      copies: settings.copies,
      indexDeadLetters,
      clock,
    }),
    queue: createSqsRunQueue({ client: sqs, queueUrl: settings.queueUrl, clock, report }),
  }
}
