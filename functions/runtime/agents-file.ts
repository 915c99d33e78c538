import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { DEFAULT_POLICIES } from '../domain/agent.ts'
import type { Agent } from '../domain/agent.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Tools } from '../ports/tool.ts'
import { SettingsError } from './config.ts'

const DEFAULT_INSTRUCTIONS = [
  'You are a helpful assistant with tools.',
  'Everything that was said and every tool result of earlier conversations can be searched with search_history.',
  'An answer that is already in the history need not be fetched again.',
].join(' ')

const json = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
const positive = z.number().int().positive()

/** Settings of the format that this version does not support: refused by name unless they are off. */
const later = <Value extends z.core.util.Literal>(off: Value) => z.literal(off, 'is not part of this version')

const policies = z.strictObject({
  max_rounds: positive.max(1_000).default(DEFAULT_POLICIES.maxRounds),
  max_run_tokens: positive.nullable().default(DEFAULT_POLICIES.maxRunTokens),
  require_tool: z.string().min(1).nullable().default(null),
  replay: z.enum(['full', 'conversation']).default(DEFAULT_POLICIES.replay),
  on_busy: z.enum(['queue', 'reject', 'steer']).default(DEFAULT_POLICIES.onBusy),
  offload_bytes: positive.max(262_144).default(DEFAULT_POLICIES.offloadBytes),
  preview_chars: z.number().int().min(0).max(10_000).default(DEFAULT_POLICIES.previewChars),
  search_scope: z.enum(['owner', 'session', 'tenant']).default(DEFAULT_POLICIES.searchScope),
  ttl_days: positive.nullable().default(DEFAULT_POLICIES.ttlDays),
  consolidation: later(false).optional(),
  images: later('note').optional(),
  sources: later('keep').optional(),
})

const agent = z.strictObject({
  model: z
    .string()
    .regex(/^[a-z0-9-]+\/.+$/, 'is not of the form provider/model')
    .optional(),
  model_options: z
    .strictObject({
      temperature: z.number().optional(),
      max_output_tokens: positive.optional(),
      timeout_ms: positive.optional(),
      provider: z.record(z.string(), json).optional(),
    })
    .default({}),
  instructions: z.string().optional(),
  tools: z.array(z.string()).optional(),
  members: z.array(z.never('is not part of this version')).optional(),
  mcp: z.strictObject({}, 'is not part of this version').optional(),
  policies: policies.prefault({}),
})

const file = z.strictObject({ agents: z.record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), agent) })

interface Defaults {
  /** `provider/model` for agents that name none. */
  readonly model: string
  readonly tools: Tools
  /** Names of tools for agents that name none. */
  readonly defaultTools: readonly string[]
}

/** The agents of `agents.json`; without the file, only the default agent. Throws `SettingsError`, which names the path. */
export function readAgents(
  at: { readonly path: string; readonly named: boolean },
  defaults: Defaults,
): Map<string, Agent> {
  const text = readIfThere(at)
  if (text === undefined) return parseAgents({ agents: {} }, defaults)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new SettingsError(`${at.path}: ${(error as Error).message}`)
  }
  try {
    return parseAgents(value, defaults)
  } catch (error) {
    throw error instanceof SettingsError ? new SettingsError(`${at.path}: ${error.message}`) : error
  }
}

/** Agents by name, complete: what is left out has its default. A `default` agent is always among them. */
export function parseAgents(value: unknown, defaults: Defaults): Map<string, Agent> {
  const parsed = file.safeParse(value)
  if (!parsed.success)
    throw new SettingsError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'))
  const declared = { default: agent.parse({}), ...parsed.data.agents }
  return new Map(Object.entries(declared).map(([name, one]) => [name, toAgent(name, one, defaults)]))
}

function toAgent(name: string, declared: z.output<typeof agent>, defaults: Defaults): Agent {
  const { policies: own, model_options: options } = declared
  const tools = declared.tools ?? defaults.defaultTools
  for (const [index, tool] of tools.entries())
    if (!defaults.tools.has(tool))
      throw new SettingsError(
        `agents.${name}.tools.${index}: there is no tool ${JSON.stringify(tool)}; there are ${[...defaults.tools.keys()].join(', ')}`,
      )
  return {
    name,
    model: declared.model ?? defaults.model,
    modelOptions: {
      ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
      ...(options.max_output_tokens === undefined ? {} : { maxOutputTokens: options.max_output_tokens }),
      ...(options.timeout_ms === undefined ? {} : { timeoutMs: options.timeout_ms }),
      ...(options.provider === undefined ? {} : { provider: options.provider }),
    },
    instructions: declared.instructions ?? DEFAULT_INSTRUCTIONS,
    tools,
    policies: {
      maxRounds: own.max_rounds,
      maxRunTokens: own.max_run_tokens,
      requireTool:
        own.require_tool === null || own.require_tool === 'any' ? own.require_tool : { name: own.require_tool },
      replay: own.replay,
      onBusy: own.on_busy,
      offloadBytes: own.offload_bytes,
      previewChars: own.preview_chars,
      searchScope: own.search_scope,
      ttlDays: own.ttl_days,
    },
  }
}

function readIfThere({ path, named }: { readonly path: string; readonly named: boolean }): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (!named && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new SettingsError(`${path}: ${(error as Error).message}`)
  }
}
