import { z } from 'zod'
import { sha256 } from '../../domain/hash.ts'
import type { Agent, McpServer } from '../../domain/agent.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { isExactNumber } from '../../domain/json.ts'
import type { JsonObject } from '../../domain/json.ts'
import { readJson } from '../../log/json/exact-json.ts'
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

/** The tools that a server declared when a run began. The output store keeps them in this form. */
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

/** Maximum characters of a server's error in a warning. */
const SHOWN = 300
/** Maximum characters of a failed call's error for a model. */
const MAX_ERROR_CHARACTERS = 20_000

/**
 * Creates a registry of this process's tools and, after them, the tools of the agent's MCP servers. A run keeps the
 * tools that its servers listed when it began. They are stored before its first request, and later holders read them,
 * so that requests keep their prefix. If a server cannot list its tools, the run continues without them.
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
  const idempotent = declared.repeatable || server?.idempotent.includes(declared.name) === true
  return {
    name,
    description,
    parameters,
    timeoutMs,
    isOfServer: true,
    takesExactNumbers: true,
    idempotent,
    needsApproval: server?.needsApproval === true || server?.needsApproval.includes(declared.name) === true,
    async execute(input, { tenant, signal, progressed }) {
      if (server === undefined) throw new Error(`the server of ${name} is no longer configured`)
      if (typeof input !== 'object' || input === null || Array.isArray(input) || isExactNumber(input))
        throw new TypeError('the arguments must be an object')
      try {
        const options = { tenant, signal, timeoutMs, progressed, repeatable: idempotent }
        return toolOutput(await connect(server).call(declared.name, input as JsonObject, options))
      } catch (error) {
        if (signal.aborted) throw error
        throw new Error(messageOf(error).slice(0, MAX_ERROR_CHARACTERS), { cause: error })
      }
    },
  }
}

/** Returns the name of the object with the tools that an agent's servers declared for a run. */
function objectOf({ name }: Agent, { runId }: ToolsOfRun): string {
  return `${runId}.tools.${sha256(name).slice(0, 16)}`
}

/** Stores the declared tools. If another thread of the run has already stored tools, returns the stored tools. */
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

/** Reads the tools that were declared when the run began; undefined if none are stored yet. */
async function recall(
  outputs: Pick<OutputStore, 'read'>,
  agent: Agent,
  run: ToolsOfRun,
): Promise<readonly Declared[] | undefined> {
  try {
    const bytes = await outputs.read(run, objectOf(agent, run))
    return kept.parse(readJson(Buffer.from(bytes).toString('utf8')))
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'output_not_found') return undefined
    throw error
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).toWellFormed()

const reasonOf = (error: unknown): string => messageOf(error).slice(0, SHOWN).replaceAll(/\s+/gu, ' ')

/** Limits of tool names. Every provider accepts a name within these limits. */
const MAX_NAME_CHARACTERS = 64
const FITS = new RegExp(`^[A-Za-z0-9_-]{1,${MAX_NAME_CHARACTERS}}$`)
const HASH = 8

/**
 * Returns the name of a server's tool for the model: `server__tool`. The name is changed if it is taken, is too long,
 * or has characters that providers reject. These characters are replaced, the name is shortened, and a hash of the
 * whole name is added. So a tool always gets the same name.
 */
function modelName(server: string, tool: string, isTaken: (name: string) => boolean): string {
  const whole = `${server}__${tool}`
  if (FITS.test(whole) && !isTaken(whole)) return whole
  const hash = sha256(whole).slice(0, HASH)
  const kept = whole.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_NAME_CHARACTERS - HASH - 1)
  return `${kept}_${hash}`
}
