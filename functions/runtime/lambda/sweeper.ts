import type { Context } from 'aws-lambda'
import { stripDeleted } from '../../adapters/dynamodb/stream/deleted-records.ts'
import type { StreamRecord } from '../../adapters/dynamodb/stream/row-records.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { sweep } from '../../agent/serving/sweeper.ts'
import { hintDueDeliveries } from '../../delivery/due-deliveries.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { openDynamo, openSqs } from '../aws/clients.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import { createAwsStores } from '../aws/stores.ts'
import type { SweeperSettings } from '../config.ts'
import { createLambdaLogger } from './logger.ts'
import { createFailureMetric } from './metrics.ts'

/** Milliseconds kept free at the end of the function's time for a request that is under way. */
const MARGIN_MS = 15_000

/** How often the batches that were given up are looked at, and how far back: often enough for a sweeper that was down. */
const LOOK_EVERY_MINUTES = 10
const LOOK_BACK_MS = 7_200_000

type Strip = (record: StreamRecord) => unknown

/** Takes what was said out of the stream batches that Lambda gave up on since then. */
async function stripFailures(settings: SweeperSettings, strip: Strip, since?: number): Promise<void> {
  const [{ openS3 }, { stripFailedRecords }] = await Promise.all([
    import('../aws/outputs.ts'),
    import('../../adapters/s3/failed-batches.ts'),
  ])
  const client = openS3(settings)
  try {
    const place = { client, bucket: settings.failuresBucket }
    await stripFailedRecords(place, (record) => strip(record as StreamRecord), since)
  } finally {
    client.destroy()
  }
}

/** Removes with a session's outputs what batches that were given up before hold of its messages. */
function forgettingFailures(settings: SweeperSettings, outputs: OutputStore): OutputStore {
  return {
    ...outputs,
    async removeAll(key) {
      await stripFailures(settings, stripDeleted(isThis(key)))
      return outputs.removeAll(key)
    },
  }
}

const isThis =
  ({ tenant, session }: SessionKey) =>
  async (other: SessionKey): Promise<boolean> =>
    other.tenant === tenant && other.session === session

/** For batches that were given up after their session was deleted. */
const isDeleted =
  (sessions: Pick<SessionStore, 'read'>) =>
  async (key: SessionKey): Promise<boolean> =>
    (await sessions.read(key)) === undefined

/** Sweeps once per invocation. */
export function createSweeperHandler(settings: SweeperSettings): (event: unknown, context: Context) => Promise<void> {
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, settings.environment)
  const outputs = forgettingFailures(settings, openOutputsLate(settings))
  const { ports } = createAwsStores({ ...settings, dynamodb: openDynamo(settings), outputs, clock })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  const queue = createSqsRunQueue({ client: openSqs(settings), queueUrl: settings.queueUrl, clock, report })
  const countLate = createFailureMetric(settings.environment, 'LateDeliveries')
  return async (_event, context) => {
    logger.begin(context)
    const deadline = clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS
    // Each gets a share of the time.
    countLate(await hintDueDeliveries({ ...ports, queue, logger }, (clock.now() + deadline) / 2))
    await sweep({ ...ports, queue, logger }, deadline)
    if (Math.floor(clock.now() / 60_000) % LOOK_EVERY_MINUTES === 0)
      await stripFailures(settings, stripDeleted(isDeleted(ports.sessions)), clock.now() - LOOK_BACK_MS)
  }
}
