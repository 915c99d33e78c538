import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createOpenSearchClient } from '../../adapters/opensearch/client.ts'
import { createOpenSearchHistoryIndex } from '../../adapters/opensearch/history-index.ts'
import { createSqsRunQueue } from '../../adapters/sqs/run-queue.ts'
import type { HistoryIndex } from '../../ports/history-index.ts'
import { readAgents, readChannels, readSlack } from '../agents-file.ts'
import { clientOptions, openDynamo, openSqs, signingOf } from '../aws/clients.ts'
import { openOutputsLate } from '../aws/late-outputs.ts'
import { createSecretModels, openSecret } from '../aws/secrets.ts'
import { createAwsStores } from '../aws/stores.ts'
import { builtInTools, withoutHttpFetch } from '../built-in-tools.ts'
import { checkChannels, secretsOfChannels } from '../channel-settings.ts'
import type { ChannelSettings } from '../channel-settings.ts'
import { openChannels, openDoors } from '../channels.ts'
import type { LoopSettings } from '../config.ts'
import { createCore } from '../core.ts'
import { checkServers, secretsOf } from '../mcp-settings.ts'
import { withMcpTools } from '../mcp-tools.ts'
import { openSlack } from '../open-slack.ts'
import { openTraces } from '../open-traces.ts'
import { checkSlack, slackSecrets } from '../slack-settings.ts'
import { createLambdaLogger } from './logger.ts'
import { createRunMetrics } from './metrics.ts'

/** The functions are in no network of yours: no server with an internal address could be reached from there. */
const NO_HOSTS: readonly string[] = []

/** Everything that executes runs in a function, created once for all its invocations. */
export function openLoop(settings: LoopSettings) {
  const { environment, region } = settings
  const clock = createSystemClock()
  const logger = createLambdaLogger(settings.logLevel, environment)
  const dynamodb = openDynamo(settings)
  const credentials = () => dynamodb.config.credentials()
  const { rows, ports } = createAwsStores({ ...settings, dynamodb, outputs: openOutputsLate(settings), clock })
  const report = (error: unknown): void => logger.warn('the run queue failed', { error: String(error) })
  const queue = createSqsRunQueue({ client: openSqs(settings), queueUrl: settings.queueUrl, clock, report })
  const tools = builtInTools()
  const agents = readAgents(settings.agentsFile, {
    model: settings.model,
    tools,
    defaultTools: withoutHttpFetch(tools),
  })
  checkServers(agents.values(), { allowedHosts: NO_HOSTS })
  const slackSettings = readSlack(settings.agentsFile)
  checkSlack(slackSettings, agents)
  const channels = channelsOf(settings, agents)
  const named = [...secretsOf(agents.values()), ...slackSecrets(slackSettings), ...secretsOfChannels(channels)]
  const secret = openSecret(clientOptions(settings, undefined), settings.modelSecret, named)
  const secrets = async () => (await secret.read()).named
  const models = createSecretModels({ secret, bedrock: { region, credentials }, logger })
  const metrics = createRunMetrics(environment, agents)
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
  // What comes from Slack is executed by the worker: Slack waits three seconds at most.
  const places = { ...settings.slack, settings: slackSettings, allowedHosts: NO_HOSTS }
  const slack = openSlack({ ...places, agents, here: false, secrets }, all)
  const core = createCore(all, {
    agents,
    tools,
    remote: withMcpTools({ ...all, agents, allowedHosts: NO_HOSTS, secrets }),
    channels: new Map([...slack.channels, ...openChannels({ ...all, channels, allowedHosts: NO_HOSTS, secrets })]),
    observe(key, event) {
      logger.identify({ tenant: key.tenant, session: key.session, run: event.runId })
      metrics.observe(event)
    },
  })
  const from = { ...all, agents, channels, secrets, here: false }
  const doors = [slack.door(core.service), ...openDoors(from, core.service)]
  const { stopMarginMs } = settings
  return { ports: all, rows, agents, channels, doors, metrics, traces, logger, stopMarginMs, ...core }
}

function openIndex({ search, region }: LoopSettings, credentials: Parameters<typeof signingOf>[2]): HistoryIndex {
  const { endpoint, index: alias } = search
  const client = createOpenSearchClient({ endpoint, ...signingOf(endpoint, region, credentials) })
  return createOpenSearchHistoryIndex({ client, alias })
}

function channelsOf({ agentsFile }: LoopSettings, agents: ReadonlyMap<string, unknown>): ChannelSettings {
  const channels = readChannels(agentsFile)
  checkChannels(channels, { agents, allowedHosts: NO_HOSTS })
  return channels
}
