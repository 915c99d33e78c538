import { isLockedOut } from '../../access/caller.ts'
import { checkModel } from '../../adapters/models/models.ts'
import type { Agent } from '../../domain/agent.ts'
import type { AppSettings } from '../../http/dependencies.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import { ModelError } from '../../ports/model.ts'
import type { Tools } from '../../ports/tool.ts'
import { readAgents, readAliases, readChannels, readSlack } from '../settings/agents-file.ts'
import { builtInTools, withoutHttpFetch } from '../built-in-tools.ts'
import { checkChannels, namedCallbacks } from '../settings/channel-settings.ts'
import { openChannels, openEndpoints } from '../channels.ts'
import type { Settings } from '../settings/config.ts'
import { SettingsError } from '../settings/settings-error.ts'
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
import { unlistedTools } from './unlisted-tools.ts'
import type { OpenPorts } from '../program.ts'
import type { TraceExport } from '../tracing/trace-export.ts'

/**
 * Interval of the sweep, which finds work that other processes on this database left unfinished. Such work waits at
 * most this long.
 */
const SWEEP_MS = 1_000
/**
 * Interval of the sweep on DynamoDB. A sweep queries 32 index partitions, which costs 16 read units: about a dollar a
 * month per process. A lost hint, or a session whose holder died and whose lease has expired, waits at most 5 s.
 */
const AWS_SWEEP_MS = 5_000
/** Maximum time for models to finish their completions when the program stops. */
const CUT_OFF_MS = 15_000
/**
 * Time for the hand-off after `CUT_OFF_MS`. While a tool runs, its run keeps the lease: no other process may acquire
 * the run before the lease expires or this process ends.
 */
const HAND_OFF_MS = 5_000
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export interface LocalServer {
  readonly url: string
  /** The default agent's model: `provider/model`. */
  readonly model: string
  readonly openAccess: boolean
  /** Lines for the operator about the tools of agents that list no tools. */
  readonly unlistedTools: readonly string[]
  /** Whether keys exist, but all are revoked or expired. If so, no request is accepted. */
  readonly lockedOut: boolean
  /** Stops accepting requests, hands off its runs, and closes the database. */
  close(): Promise<void>
}

/**
 * The runs that a program executes, besides serving requests. `all`: every run, also those of other processes, and
 * input from sockets. `followed`: only runs of sessions that its callers follow. `none`: no runs.
 */
export type TakesWork = 'all' | 'followed' | 'none'

/** Parts that replace the default parts of the program on this machine. */
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
  const unlisted = await unlistedTools(settings, agents)
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
    allowedHosts,
    endpoints: (service) => [
      slack.endpoint(service),
      ...openEndpoints({ ...ports, agents, channels, caps, secrets, here: true }, service),
    ],
    app: appSettingsOf(settings),
    sweepMs: settings.aws === undefined ? SWEEP_MS : AWS_SWEEP_MS,
    onlyFollowed: takesWork === 'followed',
  })
  const server = await serveHttp(program.app.fetch, settings, program.isCrowded)
  // Runs are executed only from now on, because a program that cannot listen must not take work.
  if (takesWork !== 'none') program.start()
  const closing = new AbortController()
  const appToken = takesWork === 'all' ? settings.secret('SLACK_APP_TOKEN') : undefined
  const socket = appToken === undefined ? undefined : slack.listen(appToken, closing.signal)
  return {
    url: server.url,
    model: agents.get('default')?.model ?? settings.model,
    openAccess,
    unlistedTools: unlisted,
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

const appSettingsOf = ({ host, corsOrigins, caps, agentsFile }: Settings): AppSettings => ({
  version: VERSION,
  openAccess: LOOPBACK.has(host),
  corsOrigins,
  caps,
  aliases: readAliases(agentsFile),
})

/** Rejects impossible model names. A missing key is only a warning, because everything else works without it. */
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

/**
 * Returns the built-in tools and the custom tools of the file. Adds the demo tools for a demo model. On AWS, the custom
 * module is part of the bundle.
 */
async function toolsOf({ toolsFile, model }: Settings): Promise<Tools> {
  const shown = model.startsWith('demo/') ? demoTools : []
  const tools = toolsFile === undefined ? builtInTools() : builtInTools(await readTools(toolsFile))
  return new Map([...tools, ...shown.map((tool) => [tool.name, tool] as const)])
}

/** Waits for `work`, but at most `milliseconds`. */
async function within(milliseconds: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([work, clock.sleep(milliseconds, over.signal)])
  } finally {
    over.abort()
  }
}
