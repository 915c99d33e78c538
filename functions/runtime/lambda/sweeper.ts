import type { Context } from 'aws-lambda'
import { isOfSession } from '../../adapters/dynamodb/stream/row-records.ts'
import type { StreamRecord } from '../../adapters/dynamodb/stream/row-records.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { sweep } from '../../agent/serving/sweeper.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { openDynamo, openSqs } from '../aws/clients.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import { createAwsStores } from '../aws/stores.ts'
import type { SweeperSettings } from '../config.ts'
import { createLambdaLogger } from './logger.ts'

/** Milliseconds kept free at the end of the function's time for a request that is under way. */
const MARGIN_MS = 15_000

/** With a session's outputs go its records in batches of the stream that Lambda gave up: they hold what was said. */
function forgettingFailures(settings: SweeperSettings, outputs: OutputStore): OutputStore {
  return {
    ...outputs,
    async removeAll(key) {
      const [{ openS3 }, { removeFailedRecords }] = await Promise.all([
        import('../aws/outputs.ts'),
        import('../../adapters/s3/failed-batches.ts'),
      ])
      const client = openS3(settings)
      try {
        await removeFailedRecords({ client, bucket: settings.failuresBucket }, (record) =>
          isOfSession(record as StreamRecord, key),
        )
      } finally {
        client.destroy()
      }
      return outputs.removeAll(key)
    },
  }
}

/** Sweeps once an invocation. */
export function createSweeperHandler(settings: SweeperSettings): (event: unknown, context: Context) => Promise<void> {
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, settings.environment)
  const outputs = forgettingFailures(settings, openOutputsLate(settings))
  const { ports } = createAwsStores({ ...settings, dynamodb: openDynamo(settings), outputs, clock })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  const queue = createSqsRunQueue({ client: openSqs(settings), queueUrl: settings.queueUrl, clock, report })
  return async (_event, context) => {
    logger.begin(context)
    await sweep({ ...ports, queue, logger }, clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS)
  }
}
