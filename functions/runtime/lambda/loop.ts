import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createOpenSearchClient } from '../../adapters/opensearch/client.ts'
import { createOpenSearchHistoryIndex } from '../../adapters/opensearch/history-index.ts'
import { createLateHints } from '../../adapters/sqs/queue-messages.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { HistoryIndex } from '../../ports/history-index.ts'
import type { Tools } from '../../ports/tool.ts'
import { readAgents, readChannels, readSlack } from '../settings/agents-file.ts'
import { clientOptions, openDynamo, openSqs, signingOf } from '../aws/clients.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import { createSecretModels, openSecret } from '../aws/secrets.ts'
import { createAwsStores } from '../aws/stores.ts'
import { builtInTools, withoutHttpFetch } from '../built-in-tools.ts'
import { checkChannels, secretsOfChannels } from '../settings/channel-settings.ts'
import { openChannels, openEndpoints } from '../channels.ts'
import type { LoopSettings } from '../settings/config.ts'
import { createCore } from '../core.ts'
import { checkServers, secretsOf } from '../settings/mcp-settings.ts'
import { withMcpTools } from '../mcp-tools.ts'
import { openSlack } from '../open-slack.ts'
import { openTraces } from '../tracing/open-traces.ts'
import { checkSlack, slackSecrets } from '../settings/slack-settings.ts'
import { createLambdaLogger } from './logger.ts'
import { createFailureMetric, createRunMetrics } from './metrics.ts'
import { createSecretsCheck } from './missing-secrets.ts'
import type { SecretsUse } from './missing-secrets.ts'

/** Creates the parts of a function that execute runs, once for all its invocations. */
export function openLoop(settings: LoopSettings) {
  const { environment, region, allowedHosts } = settings
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, environment)
  const dynamodb = openDynamo(settings)
  const credentials = () => dynamodb.config.credentials()
  const { rows, ports } = createAwsStores({ ...settings, dynamodb, outputs: openOutputsLate(settings), clock })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  const sqs = { client: openSqs(settings), queueUrl: settings.queueUrl }
  const queue = createSqsRunQueue({ ...sqs, clock, report })
  const tools = builtInTools()
  const { agents, slackSettings, channels, named, checks } = readAgentsFile(settings, tools)
  const secret = openSecret(clientOptions(settings, undefined), settings.modelSecret, named)
  const secrets = async () => (await secret.read()).named
  const count = createFailureMetric(environment, 'MissingSecrets')
  const checkSecrets = createSecretsCheck(secret, { checks, names: named, logger, count })
  const models = createSecretModels({ secret, bedrock: { region, credentials }, logger })
  const metrics = createRunMetrics(environment, agents)
  const countFailed = createFailureMetric(environment, 'FailedDeliveries')
  const { traceEndpoint: endpoint } = settings
  const headers = async () => (await secret.read()).traceHeaders
  const traces = openTraces(endpoint === undefined ? undefined : { endpoint, headers, environment }, { clock, logger })
  const all = {
    ...ports,
    queue,
    models,
    logger,
    index: openIndex(settings, credentials),
  }
  // The worker executes runs from Slack, because Slack waits at most three seconds.
  const places = { ...settings.slack, settings: slackSettings, allowedHosts }
  const slack = openSlack({ ...places, agents, caps: settings.caps, here: false, secrets }, all)
  const core = createCore(all, {
    agents,
    tools,
    remote: withMcpTools({ ...all, agents, allowedHosts, secrets }),
    channels: new Map([...slack.channels, ...openChannels({ ...all, channels, allowedHosts, secrets })]),
    observe(key, event) {
      logger.identify({ tenant: key.tenant, session: key.session, run: event.runId })
      metrics.observe(event)
    },
    deliver: { hintLater: createLateHints(sqs), noteFailure: () => countFailed() },
  })
  const from = { ...all, agents, channels, caps: settings.caps, secrets, here: false }
  const endpoints = [slack.endpoint(core.service), ...openEndpoints(from, core.service)]
  const { stopMarginMs } = settings
  return { ports: all, rows, agents, channels, endpoints, metrics, traces, checkSecrets, logger, stopMarginMs, ...core }
}

function openIndex({ search, region }: LoopSettings, credentials: Parameters<typeof signingOf>[2]): HistoryIndex {
  const { endpoint, index: alias } = search
  const client = createOpenSearchClient({ endpoint, ...signingOf(endpoint, region, credentials) })
  return createOpenSearchHistoryIndex({ client, alias })
}

/**
 * Reads and checks the agents' file. `checks`: functions that repeat the checks with the secrets, once the secrets can
 * be read.
 */
function readAgentsFile({ agentsFile, model, allowedHosts }: LoopSettings, tools: Tools) {
  const agents = readAgents(agentsFile, { model, tools, defaultTools: withoutHttpFetch(tools) })
  const slackSettings = readSlack(agentsFile)
  const channels = readChannels(agentsFile)
  const checks: readonly SecretsUse[] = [
    (secret) => checkServers(agents.values(), { allowedHosts, ...definedFields({ secret }) }),
    (secret) => checkSlack(slackSettings, agents, secret),
    (secret) => checkChannels(channels, { agents, allowedHosts, ...definedFields({ secret }) }),
  ]
  for (const check of checks) check()
  const named = [...secretsOf(agents.values()), ...slackSecrets(slackSettings), ...secretsOfChannels(channels)]
  return { agents, slackSettings, channels, named, checks }
}
