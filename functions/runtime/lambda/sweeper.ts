import type { Context } from 'aws-lambda'
import { askedOnce, partitionOfRecord, stripDeleted } from '../../adapters/dynamodb/stream/deleted-records.ts'
import type { StreamRecord } from '../../adapters/dynamodb/stream/row-records.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import type { Stripping } from '../../adapters/s3/stripped-batches.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { sweep } from '../../agent/worker/sweeper.ts'
import { hintDueDeliveries } from '../../delivery/due-deliveries.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { openDynamo, openSqs } from '../aws/clients.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import { createAwsStores } from '../aws/stores.ts'
import type { SweeperSettings } from '../settings/function-settings.ts'
import { createLambdaLogger } from './logger.ts'
import { createFailureMetric } from './metrics.ts'

/** Time kept free at the end of the invocation for a request in flight. */
const MARGIN_MS = 15_000

/**
 * `FORGET_EVERY_MINUTES`: interval between two searches of the failed batches. `LOOKBACK_MS`: maximum age of the
 * batches that a search covers. This age exceeds the interval, because the sweeper may not have run for a while.
 */
const FORGET_EVERY_MINUTES = 10
const LOOKBACK_MS = 7_200_000

type IsDeleted = (key: SessionKey) => Promise<boolean>
type ForgetFailures = (isDeleted: IsDeleted, within: Pick<Stripping, 'since' | 'isOver'>) => Promise<boolean>

/**
 * Opens the function that removes the content of deleted sessions from stream batches that Lambda gave up on. The
 * function resolves to whether it has processed all batches.
 */
function forgettingFailures(settings: SweeperSettings): ForgetFailures {
  const open = async (): Promise<(stripping: Stripping) => Promise<boolean>> => {
    const [{ openS3 }, { createBatchStripper }] = await Promise.all([
      import('../aws/outputs.ts'),
      import('../../adapters/s3/stripped-batches.ts'),
    ])
    const subjectOf = (record: unknown): string | undefined => partitionOfRecord(record as StreamRecord)
    return createBatchStripper({ client: openS3(settings), bucket: settings.failuresBucket, subjectOf })
  }
  let opened: ReturnType<typeof open> | undefined
  return async (isDeleted, within) => {
    opened ??= open()
    const strip = await opened
    const concerns = askedOnce(isDeleted)
    return strip({ ...within, concerns, strip: (record) => stripDeleted(record as StreamRecord, concerns) })
  }
}

/**
 * Wraps the outputs so that removing a session's outputs also removes its messages from failed batches. Rejects if time
 * runs out before all batches are processed.
 */
const withFailures = (outputs: OutputStore, forgetFailures: ForgetFailures, isOver: () => boolean): OutputStore => ({
  ...outputs,
  async removeAll(key) {
    if (!(await forgetFailures(isThis(key), { isOver })))
      throw new Error('there was no time to look through the batches that could not be indexed: the next sweep goes on')
    return outputs.removeAll(key)
  },
})

const isThis =
  ({ tenant, session }: SessionKey) =>
  async (other: SessionKey): Promise<boolean> =>
    other.tenant === tenant && other.session === session

/**
 * Returns a function that checks whether a session is deleted. The check also covers batches that failed after their
 * session was deleted.
 */
const isDeleted =
  (sessions: Pick<SessionStore, 'living'>) =>
  async ({ tenant, session }: SessionKey): Promise<boolean> =>
    !(await sessions.living(tenant, [session])).has(session)

/** Sweeps once per invocation. */
export function createSweeperHandler(settings: SweeperSettings): (event: unknown, context: Context) => Promise<void> {
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, settings.environment)
  const forgetFailures = forgettingFailures(settings)
  let deadline = Infinity
  const isOver = (): boolean => clock.now() > deadline
  const outputs = withFailures(openOutputsLate(settings), forgetFailures, isOver)
  const { ports } = createAwsStores({ ...settings, dynamodb: openDynamo(settings), outputs, clock })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  const queue = createSqsRunQueue({ client: openSqs(settings), queueUrl: settings.queueUrl, clock, report })
  const countLate = createFailureMetric(settings.environment, 'LateDeliveries')
  return async (_event, context) => {
    logger.begin(context)
    deadline = clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS
    // Deliveries get half of the remaining time, so that the other half is left for the sweep.
    countLate(await hintDueDeliveries({ ...ports, queue, logger }, (clock.now() + deadline) / 2))
    await sweep({ ...ports, queue, logger }, deadline)
    if (Math.floor(clock.now() / 60_000) % FORGET_EVERY_MINUTES === 0)
      await forgetFailures(isDeleted(ports.sessions), { since: clock.now() - LOOKBACK_MS, isOver })
  }
}
