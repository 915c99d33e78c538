import type { Context } from 'aws-lambda'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { sweep } from '../../agent/serving/sweeper.ts'
import { openDynamo, openSqs } from '../aws/clients.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import { createAwsStores } from '../aws/stores.ts'
import type { SweeperSettings } from '../config.ts'
import { createLambdaLogger } from './logger.ts'

/** Kept free at the end of the function's time, for a request that is under way, in milliseconds. */
const MARGIN_MS = 15_000

/** Sweeps once an invocation. */
export function createSweeperHandler(settings: SweeperSettings): (event: unknown, context: Context) => Promise<void> {
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, settings.environment)
  const { ports } = createAwsStores({
    ...settings,
    dynamodb: openDynamo(settings),
    outputs: openOutputsLate(settings),
    clock,
  })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  const queue = createSqsRunQueue({ client: openSqs(settings), queueUrl: settings.queueUrl, clock, report })
  return async (_event, context) => {
    logger.begin(context)
    await sweep({ ...ports, queue, logger }, clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS)
  }
}
