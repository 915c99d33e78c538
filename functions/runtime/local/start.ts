import { isLockedOut } from '../../access/caller.ts'
import { checkModel } from '../../adapters/models/models.ts'
import type { Agent } from '../../domain/agent.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import { ModelError } from '../../ports/model.ts'
import type { Tools } from '../../ports/tool.ts'
import { readAgents, readChannels, readSlack } from '../settings/agents-file.ts'
import { builtInTools, withoutHttpFetch } from '../built-in-tools.ts'
import { checkChannels, namedCallbacks } from '../settings/channel-settings.ts'
import { openChannels, openEndpoints } from '../channels.ts'
import type { Settings } from '../settings/config.ts'
import { SettingsError } from '../settings/config.ts'
import { serveHttp } from './http-server.ts'
import { VERSION } from '../version.ts'
import { checkServers } from '../settings/mcp-settings.ts'
import { openSlack } from '../open-slack.ts'
import { checkSlack } from '../settings/slack-settings.ts'
import { withMcpTools } from '../mcp-tools.ts'
import { openPorts } from './open-ports.ts'
import { demoTools } from '../../tools/demo-tools.ts'
import { openTraces } from '../tracing/open-traces.ts'
import { createProgram } from '../program.ts'
import { readTools } from './tools-file.ts'
import type { OpenPorts } from '../program.ts'
import type { TraceExport } from '../tracing/trace-export.ts'

/** A sweep finds what another process on the same database left: this limits how long lost work waits. */
const SWEEP_MS = 1_000
/**
 * On DynamoDB a sweep queries 32 index partitions, which costs 16 read units. A lost hint, or a session whose holder
 * died and whose lease has ended, waits 5 s at most, and each process pays about a dollar a month for it.
 */
const AWS_SWEEP_MS = 5_000
/** How long models may take to end their completions when the program stops. */
const CUT_OFF_MS = 15_000
/**
 * After that, how long handing over may take. A tool that still runs keeps its lease: while its call is open, no
 * process may take the run before the lease has ended.
 */
const HAND_OFF_MS = 5_000
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export interface LocalServer {
  readonly url: string
  /** What the default agent uses: `provider/model`. */
  readonly model: string
  readonly openAccess: boolean
  /** Keys were made, and all are revoked or expired: no request is accepted. */
  readonly lockedOut: boolean
  /** Stops accepting requests, hands over its runs, and closes the database. */
  close(): Promise<void>
}

/**
 * What a program does beside serving requests. `all`: executes runs, also those that others left, and what comes in on sockets;
 * `followed`: only runs of the sessions that its callers follow; `none`: nothing.
 */
export type TakesWork = 'all' | 'followed' | 'none'

/** Parts of the program on this machine that differ from the default. */
export interface Composition {
  readonly ports?: OpenPorts
  readonly tools?: Tools
  readonly takesWork?: TakesWork
}

/** Starts the whole program on this machine and resolves when it accepts requests. Rejects with `SettingsError`. */
export async function startLocal(settings: Settings, composition: Composition = {}): Promise<LocalServer> {
  const { ports = await openPorts(settings) } = composition
  const traces = await openTraces(settings.traces, ports)
  try {
    return await serve(
      settings,
      { ...ports, close: () => closeAll(traces, ports) },
      composition.tools ?? (await toolsOf(settings)),
      composition.takesWork ?? 'all',
    )
  } catch (error) {
    await closeAll(traces, ports)
    throw error
  }
}

async function closeAll(traces: TraceExport, ports: OpenPorts): Promise<void> {
  await traces.stop()
  await ports.close()
}

async function serve(settings: Settings, ports: OpenPorts, tools: Tools, takesWork: TakesWork): Promise<LocalServer> {
  const defaultTools = settings.aws === undefined ? [...tools.keys()] : withoutHttpFetch(tools)
  const agents = readAgents(settings.agentsFile, { model: settings.model, tools, defaultTools })
  checkModels(agents.values(), settings, ports.logger)
  checkServers(agents.values(), settings)
  const slackSettings = readSlack(settings.agentsFile)
  checkSlack(slackSettings, agents, settings.secret)
  const channels = readChannels(settings.agentsFile)
  checkChannels(channels, { ...settings, agents })
  const openAccess = !(await ports.keys.any())
  if (openAccess && !LOOPBACK.has(settings.host))
    throw new SettingsError(
      `HOST: without an API key the server listens on loopback only, not on ${settings.host}. Make a key with: npx tooltrail keys create --tenant default --scope admin`,
    )
  const secrets = async () => settings.secret
  const { allowedHosts, caps } = settings
  const slack = openSlack(
    { ...settings.slack, settings: slackSettings, allowedHosts, agents, caps, here: true, secrets },
    ports,
  )
  const program = createProgram(ports, {
    agents,
    tools,
    remote: withMcpTools({ ...settings, ...ports, agents, secrets }),
    channels: new Map([...slack.channels, ...openChannels({ ...settings, ...ports, channels, secrets })]),
    callbacks: namedCallbacks(channels),
    endpoints: (service) => [
      slack.endpoint(service),
      ...openEndpoints({ ...ports, agents, channels, caps, secrets, here: true }, service),
    ],
    app: { version: VERSION, openAccess: LOOPBACK.has(settings.host), corsOrigins: settings.corsOrigins, caps },
    sweepMs: settings.aws === undefined ? SWEEP_MS : AWS_SWEEP_MS,
    onlyFollowed: takesWork === 'followed',
  })
  const server = await serveHttp(program.app.fetch, settings, program.isCrowded)
  // Only now: a program that cannot listen must not take work.
  if (takesWork !== 'none') program.start()
  const closing = new AbortController()
  const appToken = takesWork === 'all' ? settings.secret('SLACK_APP_TOKEN') : undefined
  const socket = appToken === undefined ? undefined : slack.listen(appToken, closing.signal)
  return {
    url: server.url,
    model: agents.get('default')?.model ?? settings.model,
    openAccess,
    lockedOut: await isLockedOut(ports.keys, ports.clock.now()),
    async close() {
      closing.abort()
      const stopped = Promise.all([socket, program.stop(), server.drain()])
      await within(CUT_OFF_MS, stopped, ports.clock)
      program.cutOff()
      await within(HAND_OFF_MS, stopped, ports.clock)
      await server.close()
      await ports.close()
    },
  }
}

/** Refuses impossible model names. A missing key is only a warning: everything else works without it. */
function checkModels(agents: Iterable<Agent>, { modelSettings }: Settings, logger: Logger): void {
  for (const { name, model } of agents)
    try {
      checkModel(model, modelSettings)
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      if (error.code !== 'authentication') throw new SettingsError(`the model of agent ${name}: ${error.message}`)
      logger.warn(`an agent cannot run: ${error.message}`, { agent: name, model })
    }
}

/** On AWS the custom module is part of the bundle. */
async function toolsOf({ toolsFile, model }: Settings): Promise<Tools> {
  const shown = model.startsWith('demo/') ? demoTools : []
  const tools = toolsFile === undefined ? builtInTools() : builtInTools(await readTools(toolsFile))
  return new Map([...tools, ...shown.map((tool) => [tool.name, tool] as const)])
}

/** Waits for `work`, but no longer than `milliseconds`. */
async function within(milliseconds: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([work, clock.sleep(milliseconds, over.signal)])
  } finally {
    over.abort()
  }
}
