import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createOpenSearchClient } from '../../adapters/opensearch/client.ts'
import { createOpenSearchHistoryIndex } from '../../adapters/opensearch/history-index.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { readAgents } from '../agents-file.ts'
import { clientOptions, openDynamo, openSqs, signingOf } from '../aws/clients.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import { createSecretModels } from '../aws/secrets.ts'
import { createAwsStores } from '../aws/stores.ts'
import { builtInTools, withoutHttpFetch } from '../built-in-tools.ts'
import type { LoopSettings } from '../config.ts'
import { createCore } from '../core.ts'
import { createLambdaLogger } from './logger.ts'
import { createRunMetrics } from './metrics.ts'

/** Everything that executes runs in a function, made once for all its invocations. */
export function openLoop(settings: LoopSettings) {
  const { environment, region, search } = settings
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, environment)
  const dynamodb = openDynamo(settings)
  const credentials = () => dynamodb.config.credentials()
  const { rows, ports } = createAwsStores({ ...settings, dynamodb, outputs: openOutputsLate(settings), clock })
  const client = createOpenSearchClient({
    endpoint: search.endpoint,
    ...signingOf(search.endpoint, region, credentials),
  })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  const queue = createSqsRunQueue({ client: openSqs(settings), queueUrl: settings.queueUrl, clock, report })
  const models = createSecretModels({
    client: new SecretsManagerClient(clientOptions(settings, undefined)),
    secret: settings.modelSecret,
    bedrock: { region, credentials },
    logger,
  })
  const tools = builtInTools()
  const agents = readAgents(settings.agentsFile, {
    model: settings.model,
    tools,
    defaultTools: withoutHttpFetch(tools),
  })
  const metrics = createRunMetrics(environment, agents)
  const all = {
    ...ports,
    queue,
    models,
    logger,
    index: createOpenSearchHistoryIndex({ client, alias: search.index }),
  }
  const core = createCore(all, {
    agents,
    tools,
    observe(key, event) {
      logger.identify({ tenant: key.tenant, session: key.session, run: event.runId })
      metrics.observe(event)
    },
  })
  return { ports: all, rows, agents, metrics, logger, stopMarginMs: settings.stopMarginMs, ...core }
}
