import { z } from 'zod'
import { sha256 } from '../../domain/hash.ts'
import type { Agent, McpServer } from '../../domain/agent.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { Tool, ToolRegistry, Tools, ToolsOfRun } from '../../ports/tool.ts'
import type { McpConnection } from './connection.ts'
import { declaredTools, type DeclaredTool } from './listed-tools.ts'
import { toolOutput } from './tool-result.ts'

type Connect = (server: McpServer) => McpConnection

interface Dependencies {
  /** The tools of this process. */
  readonly list: ToolRegistry
  readonly outputs: Pick<OutputStore, 'put' | 'read'>
  readonly connect: Connect
}

/** What was declared when a run began, by server: as it is kept in the output store. */
interface Declared {
  readonly server: string
  readonly tools: readonly DeclaredTool[]
}

const kept = z.array(
  z.object({
    server: z.string(),
    tools: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        parameters: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null),
        repeatable: z.boolean(),
      }),
    ),
  }),
)

/** Characters of a server's words that people are shown. */
const SHOWN = 300
/** Characters of a failed call's error that a model is shown. */
const MAX_ERROR_CHARACTERS = 20_000

/**
 * The tools of this process, then those of the agent's MCP servers. A run keeps the ones that its servers listed when it began:
 * they are stored before its first request, and whoever goes on with it reads them. So its requests keep their prefix. A server
 * that cannot list has no tools in that run, which goes on.
 */
export function createMcpToolRegistry({ list, outputs, connect }: Dependencies): ToolRegistry {
  return {
    async open(agent, run) {
      const own = await list.open(agent, run)
      const { mcp = [] } = agent
      if (mcp.length === 0) return own
      const known = run === undefined || run.as === 'begins' ? undefined : await recall(outputs, agent, run)
      if (known !== undefined) return withServers(connect, own, agent, known)
      const declared = await Promise.all(mcp.map((server) => declare(connect, server, run)))
      if (run === undefined || run.as === 'looks') return withServers(connect, own, agent, declared)
      return withServers(connect, own, agent, await keep(outputs, agent, run, declared))
    },
  }
}

async function declare(connect: Connect, server: McpServer, run: ToolsOfRun | undefined): Promise<Declared> {
  try {
    const { tools, left } = declaredTools(await connect(server).list(), server.tools)
    if (left !== undefined) run?.absent(`MCP server ${server.name}: ${left}`)
    return { server: server.name, tools }
  } catch (error) {
    run?.absent(`MCP server ${server.name}: its tools are absent: ${reasonOf(error)}`)
    return { server: server.name, tools: [] }
  }
}

function withServers(connect: Connect, own: Tools, agent: Agent, declared: readonly Declared[]): Tools {
  const all = new Map(own)
  for (const { server: of, tools } of declared) {
    const server = agent.mcp?.find(({ name }) => name === of)
    for (const tool of tools) {
      const name = modelName(of, tool.name, (taken) => all.has(taken))
      if (!all.has(name)) all.set(name, toolOf(connect, name, tool, server))
    }
  }
  return all
}

function toolOf(connect: Connect, name: string, declared: DeclaredTool, server: McpServer | undefined): Tool {
  const { description, parameters } = declared
  const timeoutMs = server?.timeoutMs ?? 1_000
  return {
    name,
    description,
    parameters,
    timeoutMs,
    isOfServer: true,
    idempotent: declared.repeatable || server?.idempotent.includes(declared.name) === true,
    needsApproval: server?.needsApproval === true || server?.needsApproval.includes(declared.name) === true,
    async execute(input, { tenant, signal, progressed }) {
      if (server === undefined) throw new Error(`the server of ${name} is no longer configured`)
      if (typeof input !== 'object' || input === null || Array.isArray(input))
        throw new TypeError('the arguments must be an object')
      try {
        const options = { tenant, signal, timeoutMs, progressed }
        return toolOutput(await connect(server).call(declared.name, input as JsonObject, options))
      } catch (error) {
        if (signal.aborted) throw error
        throw new Error(messageOf(error).slice(0, MAX_ERROR_CHARACTERS), { cause: error })
      }
    },
  }
}

/** The object that keeps what an agent's servers declared for a run. */
function objectOf({ name }: Agent, { runId }: ToolsOfRun): string {
  return `${runId}.tools.${sha256(name).slice(0, 16)}`
}

/** Keeps what was declared, unless another thread of the run has come first: then that holds. */
async function keep(
  outputs: Pick<OutputStore, 'put' | 'read'>,
  agent: Agent,
  run: ToolsOfRun,
  declared: readonly Declared[],
): Promise<readonly Declared[]> {
  try {
    await outputs.put(run, objectOf(agent, run), Buffer.from(JSON.stringify(declared)), 'application/json')
    return declared
  } catch (error) {
    const first = await recall(outputs, agent, run)
    if (first === undefined) throw error
    return first
  }
}

/** What was declared when the run began; undefined if nobody has come so far. */
async function recall(
  outputs: Pick<OutputStore, 'read'>,
  agent: Agent,
  run: ToolsOfRun,
): Promise<readonly Declared[] | undefined> {
  try {
    const bytes = await outputs.read(run, objectOf(agent, run))
    return kept.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'output_not_found') return undefined
    throw error
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).toWellFormed()

const reasonOf = (error: unknown): string => messageOf(error).slice(0, SHOWN).replaceAll(/\s+/gu, ' ')

/** The form of a tool's name that every provider accepts. */
const MAX_NAME_CHARACTERS = 64
const FITS = new RegExp(`^[A-Za-z0-9_-]{1,${MAX_NAME_CHARACTERS}}$`)
const HASH = 8

/**
 * The name under which a model gets a server's tool: `server__tool`. One that is too long, has other characters, or is taken is
 * cut, and ends in a hash of the whole, so that the same tool always has the same name.
 */
function modelName(server: string, tool: string, isTaken: (name: string) => boolean): string {
  const whole = `${server}__${tool}`
  if (FITS.test(whole) && !isTaken(whole)) return whole
  const hash = sha256(whole).slice(0, HASH)
  const kept = whole.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_NAME_CHARACTERS - HASH - 1)
  return `${kept}_${hash}`
}
