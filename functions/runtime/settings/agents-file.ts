import { MAX_TIMER_MS } from '../../domain/time/time-limit.ts'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { outputTokensOf } from '../../adapters/models/models.ts'
import { DEFAULT_CONSOLIDATION, DEFAULT_POLICIES, MAX_OFFLOAD_BYTES } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Agent, Consolidation } from '../../domain/agent.ts'
import { isJsonObject } from '../../domain/json.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { DELEGATE_TOOL, teamFault } from '../../domain/runs/team.ts'
import { responseFormat } from '../../log/formats/response-format.ts'
import { readJson, withPlainNumbers } from '../../log/json/exact-json.ts'
import type { Tools } from '../../ports/tool.ts'
import { channelFields, channelSettings } from './channel-settings.ts'
import type { ChannelSettings } from './channel-settings.ts'
import { SettingsError } from './settings-error.ts'
import { mcpServers } from './mcp-settings.ts'
import { beforeEachLine, faultText, reasonOf, settingText } from './setting-text.ts'
import { slackSettings } from './slack-settings.ts'
import { DEFAULT_SLACK } from '../../channels/slack/settings.ts'
import type { SlackSettings } from '../../channels/slack/settings.ts'

const DEFAULT_INSTRUCTIONS = [
  'You are a helpful assistant with tools.',
  'Everything that was said and every tool result of earlier conversations can be searched with search_history.',
  'What is already in the history need not be fetched again.',
].join(' ')

const json = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
)
const positive = z.number().int().positive()

const modelName = z.string().regex(/^[a-z0-9-]+\/.+$/, 'is not of the form provider/model')

const consolidation = z
  .strictObject({
    threshold: positive.max(10_000).default(DEFAULT_CONSOLIDATION.threshold),
    keep_recent_ratio: z.number().min(0).max(1).default(DEFAULT_CONSOLIDATION.keepRecentRatio),
    model: modelName.optional(),
    instructions: z.string().min(1).max(100_000).optional(),
  })
  .transform(({ threshold, keep_recent_ratio: keepRecentRatio, ...own }): Consolidation => {
    return { threshold, keepRecentRatio, ...definedFields(own) }
  })

const policies = z.strictObject({
  max_rounds: positive.max(1_000).default(DEFAULT_POLICIES.maxRounds),
  max_run_tokens: positive.nullable().default(DEFAULT_POLICIES.maxRunTokens),
  require_tool: z.string().min(1).nullable().default(null),
  replay: z.enum(['full', 'conversation']).default(DEFAULT_POLICIES.replay),
  on_busy: z.enum(['queue', 'reject', 'steer']).default(DEFAULT_POLICIES.onBusy),
  offload_bytes: positive.max(MAX_OFFLOAD_BYTES).default(DEFAULT_POLICIES.offloadBytes),
  preview_chars: z.number().int().min(0).max(10_000).default(DEFAULT_POLICIES.previewChars),
  search_scope: z.enum(['owner', 'session', 'tenant']).default(DEFAULT_POLICIES.searchScope),
  ttl_days: positive.nullable().default(DEFAULT_POLICIES.ttlDays),
  titles: z
    .union([z.literal('input'), z.strictObject({ model: modelName })], 'is neither "input" nor {model}')
    .default(DEFAULT_POLICIES.titles),
  context_tokens: positive
    .min(1_000, 'is less than any request needs')
    .nullable()
    .default(DEFAULT_POLICIES.contextTokens),
  consolidation: z
    .union(
      [z.literal(false), consolidation],
      'is neither false nor {threshold, keep_recent_ratio, model, instructions}',
    )
    .default(DEFAULT_CONSOLIDATION),
  images: z
    .union(
      [z.literal('note'), z.strictObject({ reattach: positive.max(100) })],
      'is neither "note" nor {reattach: a number from 1 to 100}',
    )
    .default(DEFAULT_POLICIES.images),
  sources: z.enum(['keep', 'cited']).default(DEFAULT_POLICIES.sources),
  response_format: responseFormat.default({ type: 'text' }),
  request_options: z.enum(['ignore', 'accept']).default(DEFAULT_POLICIES.requestOptions),
})

const agent = z.strictObject({
  model: modelName.optional(),
  model_options: z
    .strictObject({
      temperature: z.number().optional(),
      max_output_tokens: positive.optional(),
      timeout_ms: positive.max(MAX_TIMER_MS).optional(),
      provider: z.record(z.string(), json).optional(),
    })
    .default({}),
  instructions: z.string().optional(),
  tools: z.union([z.literal('all'), z.array(z.string())], 'must be "all" or a list of names').optional(),
  members: z.array(z.string()).default([]),
  mcp: mcpServers.prefault({}),
  policies: policies.prefault({}),
})

/** Schema of `agents.json`. */
export const agentsFile = z.strictObject({
  /** Address of the JSON Schema, for editors. */
  $schema: z.string().optional(),
  agents: z.record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'the name must be 1–64 of A-Z a-z 0-9 _ -'), agent),
  /** Alternative names of agents, which clients of other APIs may send. */
  aliases: z
    .record(z.string().regex(/^[\x21-\x7e]{1,128}$/, 'the name must be 1–128 visible ASCII characters'), z.string())
    .default({}),
  slack: slackSettings.optional(),
  ...channelFields,
})

/** The path of `agents.json`, and whether the operator named it. A named file must exist. */
interface AgentsPlace {
  readonly path: string
  readonly named: boolean
}

interface Defaults {
  /** Model of agents without `model`: `provider/model`. */
  readonly model: string
  readonly tools: Tools
  /** Tools of agents without `tools`. */
  readonly defaultTools: readonly string[]
}

/**
 * Reads the agents of `agents.json`. Without the file, there is only the default agent. Throws `SettingsError`, which
 * names the path.
 */
export function readAgents(at: AgentsPlace, defaults: Defaults): Map<string, Agent> {
  return readFile(at, (value) => parseAgents(value, defaults))
}

/** Reads the Slack settings of `agents.json`, or the defaults. Throws `SettingsError`, which names the path. */
export const readSlack = (at: AgentsPlace): SlackSettings =>
  readFile(at, (value) => parseFile(value).slack ?? DEFAULT_SLACK)

/** Reads the settings of webhooks and callbacks. Throws `SettingsError`, which names the path. */
export const readChannels = (at: AgentsPlace): ChannelSettings =>
  readFile(at, (value) => channelSettings(parseFile(value)))

/** Reads the aliases: the agent of each alternative name. Throws `SettingsError`, which names the path. */
export const readAliases = (at: AgentsPlace): ReadonlyMap<string, string> =>
  readFile(at, (value) => {
    const { aliases, agents } = parseFile(value)
    const names = new Set(['default', ...Object.keys(agents)])
    for (const [alias, agent] of Object.entries(aliases)) {
      if (names.has(alias)) throw new SettingsError(`aliases.${alias}: is the name of an agent`)
      if (!names.has(agent)) throw new SettingsError(`aliases.${alias}: there is no agent ${JSON.stringify(agent)}`)
    }
    return new Map(Object.entries(aliases))
  })

/** Reads the names of the agents without `tools`. Throws `SettingsError`, which names the path. */
export const readAgentsWithoutTools = (at: AgentsPlace): readonly string[] =>
  readFile(at, (value) => {
    const declared = Object.entries({ default: agent.parse({}), ...parseFile(value).agents })
    return declared.flatMap(([name, { tools }]) => (tools === undefined ? [name] : []))
  })

/** Reads the names of the declared agents, and adds `default`. Throws `SettingsError`, which names the path. */
export const readAgentNames = (at: AgentsPlace): ReadonlySet<string> =>
  readFile(at, (value) => new Set(['default', ...Object.keys(parseFile(value).agents)]))

/** Applies `read` to the file's content, or to an empty list of agents if there is no file. */
function readFile<Result>(at: AgentsPlace, read: (value: unknown) => Result): Result {
  const text = readIfThere(at)
  if (text === undefined) return read({ agents: {} })
  let value: unknown
  try {
    value = readSettings(text)
  } catch (error) {
    throw new SettingsError(`${at.path}: ${(error as Error).message}`)
  }
  try {
    return read(value)
  } catch (error) {
    throw error instanceof SettingsError ? new SettingsError(beforeEachLine(`${at.path}: `, error.message)) : error
  }
}

/**
 * Parses the file with JavaScript numbers. Only the conditions `when` of webhooks keep their exact numbers, because
 * incoming requests are compared with them.
 */
function readSettings(text: string): unknown {
  const exact = readJson(text) as Json
  const plain = withPlainNumbers(exact)
  const [webhooks, copies] = [fieldOf(exact, 'webhooks'), fieldOf(plain, 'webhooks')]
  for (const [name, copy] of Object.entries(copies))
    if (isJsonObject(copy) && isJsonObject(copy['when'])) Object.assign(copy, { when: fieldOf(webhooks, name)['when'] })
  return plain
}

function fieldOf(value: Json | undefined, name: string): JsonObject {
  const field = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return isJsonObject(field) ? field : {}
}

/** Returns the agents by name. Missing fields get their defaults. A `default` agent is always included. */
export function parseAgents(value: unknown, defaults: Defaults): Map<string, Agent> {
  const declared = { default: agent.parse({}), ...parseFile(value).agents }
  const fault = teamFault(new Map(Object.entries(declared).map(([name, { members }]) => [name, members])))
  if (fault !== undefined) throw new SettingsError(`agents.${fault.agent}.members.${fault.place}: ${fault.text}`)
  return new Map(Object.entries(declared).map(([name, one]) => [name, toAgent(name, one, defaults)]))
}

function parseFile(value: unknown): z.output<typeof agentsFile> {
  const parsed = agentsFile.safeParse(value, { error: settingText })
  if (parsed.success) return parsed.data
  throw new SettingsError(parsed.error.issues.flatMap((issue) => faultsOf(issue, [])).join('\n'))
}

/**
 * Returns each fault with its path. If a value has several allowed forms and partly matches exactly one of them,
 * returns the faults of this form.
 */
function faultsOf(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): string[] {
  const at = [...path, ...issue.path]
  const begun =
    issue.code !== 'invalid_union'
      ? []
      : issue.errors.filter((form) => form.every((one) => one.path.length > 0 || one.code === 'unrecognized_keys'))
  const [form] = begun
  return form !== undefined && begun.length === 1
    ? form.flatMap((one) => faultsOf(one, at))
    : [faultText(at, reasonOf(issue))]
}

function toAgent(name: string, declared: z.output<typeof agent>, defaults: Defaults): Agent {
  const { policies: own, model_options: options } = declared
  const listed = declared.tools === 'all' ? undefined : declared.tools
  const tools = listed ?? defaults.defaultTools
  const taken = tools.indexOf(DELEGATE_TOOL)
  if (taken >= 0)
    throw new SettingsError(`agents.${name}.tools.${taken}: an agent gets ${DELEGATE_TOOL} by having members`)
  for (const [index, tool] of tools.entries())
    if (!defaults.tools.has(tool))
      throw new SettingsError(
        `agents.${name}.tools.${index}: there is no tool ${JSON.stringify(tool)}; there are ${[...defaults.tools.keys()].join(', ')}`,
      )
  const model = declared.model ?? defaults.model
  // The context window must have room for the request and for the model's output limit.
  const outputTokens = options.max_output_tokens ?? outputTokensOf(model)
  return {
    name,
    model,
    modelOptions: {
      ...definedFields({
        temperature: options.temperature,
        maxOutputTokens: outputTokens,
        timeoutMs: options.timeout_ms,
        provider: options.provider,
      }),
    },
    instructions: declared.instructions ?? DEFAULT_INSTRUCTIONS,
    tools,
    ...(listed === undefined ? {} : { listsTools: true as const }),
    ...(declared.mcp.length === 0 ? {} : { mcp: declared.mcp }),
    members: [...new Set(declared.members)],
    policies: {
      maxRounds: own.max_rounds,
      maxRunTokens: own.max_run_tokens,
      requireTool:
        own.require_tool === null || own.require_tool === 'any' ? own.require_tool : { name: own.require_tool },
      replay: own.replay,
      contextTokens: own.context_tokens,
      consolidation: own.consolidation,
      sources: own.sources,
      images: own.images,
      onBusy: own.on_busy,
      offloadBytes: own.offload_bytes,
      previewChars: own.preview_chars,
      searchScope: own.search_scope,
      ttlDays: own.ttl_days,
      titles: own.titles,
      responseFormat: own.response_format,
      requestOptions: own.request_options,
    },
  }
}

function readIfThere({ path, named }: AgentsPlace): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (!named && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new SettingsError(`${path}: ${(error as Error).message}`)
  }
}
