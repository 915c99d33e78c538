import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch'
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { decodeHint } from '../../adapters/sqs/queue-messages.ts'
import { serveHint } from '../../agent/worker/serve-hint.ts'
import type { LoopSettings } from '../settings/config.ts'
import { invoke } from './invocation.ts'
import { openLoop } from './loop.ts'
import { createFailureMetric } from './metrics.ts'

/** Serves the sessions that hints from the run queue name. A hint that could not be served is delivered again. */
export function createWorkerHandler(
  settings: LoopSettings,
): (event: SQSEvent, context: Context) => Promise<SQSBatchResponse> {
  const loop = openLoop(settings)
  const { ports, worker, deliveries, logger } = loop
  const countFailure = createFailureMetric(settings.environment, 'FailedHints')
  return async (event, context) => {
    const deadline = ports.clock.now() + context.getRemainingTimeInMillis() - settings.stopMarginMs
    const serve = async ({ body, messageId }: SQSRecord): Promise<void> => {
      try {
        const hint = decodeHint(body)
        await invoke(loop, context, hint.hops ?? 0, async () => {
          logger.identify({ tenant: hint.tenant, session: hint.session })
          await deliveries.serve(hint)
          await serveHint({ ...ports, worker }, hint, deadline)
        })
      } catch (error) {
        logger.error('serving a hint failed', error, { message_id: messageId })
        countFailure()
        throw error
      }
    }
    const options = { context, throwOnFullBatchFailure: false }
    return processPartialResponse(event, serve, new BatchProcessor(EventType.SQS), options)
  }
}
