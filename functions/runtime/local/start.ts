import packageJson from '../../../package.json' with { type: 'json' }
import { isLockedOut } from '../../access/caller.ts'
import { checkModel } from '../../adapters/models/models.ts'
import type { Agent } from '../../domain/agent.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import { ModelError } from '../../ports/model.ts'
import type { Tools } from '../../ports/tool.ts'
import { readAgents } from '../agents-file.ts'
import { builtInTools, withoutHttpFetch } from '../built-in-tools.ts'
import type { Settings } from '../config.ts'
import { SettingsError } from '../config.ts'
import { serveHttp } from './http-server.ts'
import { openPorts } from './open-ports.ts'
import { demoTools } from '../../tools/demo-tools.ts'
import { createProgram } from '../program.ts'
import { readTools } from './tools-file.ts'
import type { OpenPorts } from '../program.ts'

/** A sweep finds what another process on the same database left: this limits how long lost work waits. */
const SWEEP_MS = 1_000
/**
 * On DynamoDB a sweep queries 32 index partitions, which costs 16 read units: a lost hint, and a session whose holder died
 * and whose lease has ended, wait 5 s at the most, and each process pays about a dollar a month for it.
 */
const AWS_SWEEP_MS = 5_000
/** How long models have to end their completions when the program is told to stop. */
const CUT_OFF_MS = 15_000
/**
 * After that, how long handing over may take. A tool that still runs is left behind with its lease: while its call is open,
 * nobody may take the run before the lease has ended.
 */
const HAND_OVER_MS = 5_000
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export interface LocalServer {
  readonly url: string
  /** What the default agent uses: `provider/model`. */
  readonly model: string
  readonly openAccess: boolean
  /** Keys were made, and all are revoked: nobody gets in. */
  readonly lockedOut: boolean
  /** Stops taking requests, hands over what runs, and closes the database. */
  close(): Promise<void>
}

/** Parts of the program on this machine that differ from the default. */
export interface Composition {
  readonly ports?: OpenPorts
  readonly tools?: Tools
}

/** Starts the whole program on this machine and resolves when it takes requests. Rejects with `SettingsError`. */
export async function startLocal(settings: Settings, composition: Composition = {}): Promise<LocalServer> {
  const { ports = await openPorts(settings) } = composition
  try {
    return await serve(settings, ports, composition.tools ?? (await toolsOf(settings)))
  } catch (error) {
    await ports.close()
    throw error
  }
}

async function serve(settings: Settings, ports: OpenPorts, tools: Tools): Promise<LocalServer> {
  const defaultTools = settings.aws === undefined ? [...tools.keys()] : withoutHttpFetch(tools)
  const agents = readAgents(settings.agentsFile, { model: settings.model, tools, defaultTools })
  checkModels(agents.values(), settings, ports.logger)
  const openAccess = !(await ports.keys.any())
  if (openAccess && !LOOPBACK.has(settings.host))
    throw new SettingsError(
      `HOST: without an API key the server listens on loopback only, not on ${settings.host}. Make a key with: npm run keys -- create --tenant default --scope admin`,
    )
  const program = createProgram(ports, {
    agents,
    tools,
    app: { version: packageJson.version, openAccess: LOOPBACK.has(settings.host), corsOrigins: settings.corsOrigins },
    sweepMs: settings.aws === undefined ? SWEEP_MS : AWS_SWEEP_MS,
  })
  const server = await serveHttp(program.app.fetch, settings)
  // Not before: a program that cannot listen must not touch work.
  program.start()
  return {
    url: server.url,
    model: agents.get('default')?.model ?? settings.model,
    openAccess,
    lockedOut: await isLockedOut(ports.keys),
    async close() {
      const stopped = Promise.all([program.stop(), server.drain()])
      await within(CUT_OFF_MS, stopped, ports.clock)
      program.cutOff()
      await within(HAND_OVER_MS, stopped, ports.clock)
      await server.close()
      await ports.close()
    },
  }
}

/** Refuses names that no model can have. A missing key is only a warning: everything else works without it. */
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

/** On AWS the module of your own is part of the bundle. */
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
