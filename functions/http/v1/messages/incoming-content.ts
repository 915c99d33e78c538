import type { z } from '@hono/zod-openapi'
import type { CallResolution, RowResolution } from '../../../agent/service/agent-service.ts'
import type { Agent } from '../../../domain/agent.ts'
import { isJsonObject, type Json } from '../../../domain/json.ts'
import { missingTool, missingToolText } from '../../../domain/runs/required-tool.ts'
import type { RequestSettings } from '../../../domain/runs/request-settings.ts'
import type { ClientTool } from '../../../domain/runs/run.ts'
import { DELEGATE_TOOL } from '../../../domain/runs/team.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { MAX_SOURCES, sourceFault } from '../../../domain/messages/source.ts'
import type { Source } from '../../../domain/messages/source.ts'
import { compactJson, itemsAt, propertiesAt, valueAt } from '../../../log/json/json-spans.ts'
import type { Span } from '../../../log/json/json-spans.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { contentParts } from './input-schema.ts'
import type { toolResults } from './input-schema.ts'
import { withImages } from './incoming-images.ts'
import { refuseUnknownChoice } from './tool-choice.ts'
import type { ImageCaller, RequestPart } from './incoming-images.ts'
import { RequestError } from '../../middleware/request-error.ts'
import type { InvalidField } from '../../middleware/request-error.ts'
import { invalidFields, invalidRequest } from '../../middleware/validation.ts'

const MAX_ERRORS = 20
const PART_TYPES = new Set<unknown>(['text', 'image', 'file'])

type ContentPart = z.output<typeof contentParts>[number]

/** Converts a message's content to parts with their bytes, or with the addresses of images. */
export const incomingParts = (content: string | readonly ContentPart[]): RequestPart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(incomingPart)

/**
 * Rejects an input if policy `require_tool` of its agent, or of a team member, demands a tool that neither the agent
 * nor the caller provides.
 */
export function refuseMissingTool(
  agents: ReadonlyMap<string, Agent>,
  agent: string,
  tools: readonly ClientTool[],
): void {
  const brought = tools.map(({ name }) => name)
  const missing = missingTool(agents, agent, brought)
  if (missing === undefined) return
  throw invalidRequest([{ path: 'body.tools', message: `must have ${missing.tool}: ${missingToolText(missing)}` }])
}

/** Built-in tools. Their outputs are never indexed, so client tools must not use their names. */
const BUILT_IN = new Set(['search_history', 'read_output', 'current_time', 'http_fetch', DELEGATE_TOOL])

/** The path of a tool's name, by the tool's index. */
type NamePath = (index: number) => string

const pathsOf =
  (field: string): NamePath =>
  (index) =>
    `body.tools[${index}].${field}`

/** Rejects client tools whose name is repeated or belongs to a built-in tool. */
export function refuseTakenNames(tools: readonly ClientTool[], pathOf = pathsOf('name')): void {
  const errors = tools.flatMap(({ name }, index) =>
    BUILT_IN.has(name) ? [{ path: pathOf(index), message: `${name} is the name of a built-in tool` }] : [],
  )
  if (errors.length > 0) throw invalidRequest(errors)
  const names = tools.map(({ name }) => name)
  const again = repeatIn(names)
  if (again === undefined) return
  const message = `there are several tools named ${names[again]}`
  throw invalidRequest([{ path: pathOf(again), message }])
}

/**
 * Rejects client tools with the name of an agent's tool. With `onlyListed`, rejects a name only if the agent's entry
 * lists the tool or the tool needs approval. During the run, client tools replace the agent's other tools with equal
 * names.
 */
export async function refuseServerTools(
  { service, agents }: Pick<RouteDependencies, 'service' | 'agents'>,
  agent: string,
  tools: readonly ClientTool[],
  { pathOf = pathsOf('name'), onlyListed = false } = {},
): Promise<void> {
  if (tools.length === 0) return
  const own = await service.toolsOf(agent)
  const listsTools = agents.get(agent)?.listsTools === true
  const errors = tools.flatMap(({ name }, index) => {
    const tool = own.get(name)
    if (tool === undefined || (onlyListed && !listsTools && !tool.needsApproval)) return []
    return [{ path: pathOf(index), message: `${name} is the name of a tool of the agent ${agent}` }]
  })
  if (errors.length > 0) throw invalidRequest(errors)
}

/** The tools of a request, and whether it has an input. A request without an input answers calls of a run. */
interface BroughtTools {
  readonly tools: readonly ClientTool[] | undefined
  /** The path of each tool's name. If absent, the path is derived from the tool's index. */
  readonly toolPaths?: readonly string[] | undefined
  readonly said: readonly unknown[]
  readonly settings?: RequestSettings
}

/**
 * Rejects a facade's request whose tools conflict with built-in tools or with the agent's. Also rejects a request that
 * lacks a demanded tool or has a wrong tool choice.
 */
export async function refuseWrongTools(
  dependencies: Pick<RouteDependencies, 'service' | 'agents'>,
  agent: string,
  { tools, toolPaths, said, settings }: BroughtTools,
  field = 'name',
): Promise<void> {
  const pathOf = toolPaths === undefined ? pathsOf(field) : (index: number) => `body.${toolPaths[index]}`
  refuseTakenNames(tools ?? [], pathOf)
  await refuseServerTools(dependencies, agent, tools ?? [], { pathOf, onlyListed: true })
  // A request that answers calls and has no `tools` keeps the tools of its run.
  if (tools === undefined && said.length === 0) return
  refuseMissingTool(dependencies.agents, agent, tools ?? [])
  refuseUnknownChoice(dependencies.agents.get(agent), tools ?? [], settings?.toolChoice, field)
}

/** The index of the first repeated name; undefined if all are unique. */
function repeatIn(names: readonly string[]): number | undefined {
  const index = names.findIndex((name, place) => names.indexOf(name) !== place)
  return index === -1 ? undefined : index
}

/** The call that a resolution names. Throws if it names none. */
function callName(
  { tool_call_id: toolCallId, message_id: messageId }: z.output<typeof toolResults>['results'][number],
  index: number,
): { toolCallId: string; messageId?: string } | { toolCallId?: undefined; messageId: string } {
  if (toolCallId !== undefined) return { toolCallId, ...definedFields({ messageId }) }
  if (messageId !== undefined) return { messageId }
  throw invalidRequest([
    { path: `body.results[${index}].message_id`, message: 'must name a call: give message_id or tool_call_id' },
  ])
}

/** Rejects two results for one call in the same request. */
function refuseRepeatedResults(calls: readonly string[]): void {
  const again = repeatIn(calls)
  if (again === undefined) return
  const message = `there is more than one result for ${calls[again]}`
  throw new RequestError(409, 'repeated_result', message, { errors: [{ path: `body.results[${again}]`, message }] })
}

/**
 * Converts the results of a request to resolutions of tool calls. `text`: the raw body, which contains the exact
 * numbers of JSON outputs.
 */
export function callResolutions(body: z.output<typeof toolResults>, text: string): RequestResolution[] {
  const names = body.results.map(callName)
  refuseRepeatedResults(
    names.map(({ toolCallId: id, messageId: message }) =>
      id === undefined || message === undefined ? (id ?? message) : `${id} (${message})`,
    ),
  )
  const outputs = outputsIn(text)
  return body.results.map((result, index) => {
    const call = callName(result, index)
    if ('error' in result) return { ...call, error: result.error }
    if ('approve' in result) return { ...call, approve: result.approve }
    const { output } = result
    const path = `body.results[${index}].output`
    const sources = incomingSources(`body.results[${index}].sources`, result.sources)
    return {
      ...call,
      output: outputParts(path, output, () => compactJson(text, outputs[index] ?? NOTHING)),
      ...definedFields({ sources }),
    }
  })
}

/** A resolution whose output may contain images that are given by their address. */
type WithRequestParts<One> = One extends { readonly output: unknown }
  ? Omit<One, 'output'> & { readonly output: readonly RequestPart[] }
  : One
type RequestResolution = WithRequestParts<CallResolution | RowResolution>

/** Calls `accept` with the resolutions, after the images of their outputs are checked and fetched. */
export async function withOutputImages<Accepted>(
  dependencies: RouteDependencies,
  caller: ImageCaller,
  resolutions: readonly RequestResolution[],
  accept: (resolutions: (CallResolution | RowResolution)[]) => Promise<Accepted>,
): Promise<Accepted> {
  const content = resolutions.map((one, index) => ({
    ...{ path: `body.results[${index}].output`, field: 'data', addressField: 'url' },
    parts: 'output' in one ? one.output : [],
  }))
  return withImages(dependencies, caller, content, (outputs) =>
    accept(resolutions.map((one, index) => ('output' in one ? { ...one, output: outputs[index] ?? [] } : one))),
  )
}

const NOTHING: Span = { from: 0, to: 0 }

/** Finds the ranges of the outputs in a body's text. This takes 10 ms where a JSON reviver takes 0.1 s. */
function outputsIn(text: string): readonly (Span | undefined)[] {
  const results = propertiesAt(text, valueAt(text, 0)).get('results') ?? NOTHING
  return itemsAt(text, results).map((result) => propertiesAt(text, result).get('output'))
}

/** Reads the sources of a tool result. Rejects invalid ones with their paths. Unknown fields are dropped. */
function incomingSources(path: string, value: Json | undefined): Source[] | undefined {
  if (value === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  const errors = list
    .map((source, index) => ({ path: `${path}[${index}]`, message: sourceFault(source) }))
    .filter((error): error is InvalidField => error.message !== undefined)
  if (!Array.isArray(value)) errors.push({ path, message: 'must be a list' })
  if (list.length > MAX_SOURCES) errors.push({ path, message: `must have at most ${MAX_SOURCES} sources` })
  const [first] = errors
  if (first !== undefined)
    throw new RequestError(422, 'invalid_sources', `${first.path} ${first.message}`, {
      errors: errors.slice(0, MAX_ERRORS),
    })
  return (list as readonly Source[]).map(({ title, url, text, id }) => ({ title, ...definedFields({ url, text, id }) }))
}

/**
 * Converts an output to parts. `exact` returns the output's JSON as received, with numbers such as
 * `12345678901234567890` and `1.0` unchanged.
 */
function outputParts(path: string, output: Json, exact: () => string): RequestPart[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  if (!looksLikeParts(output)) return [{ type: 'text', text: exact() }]
  const parsed = contentParts.safeParse(output)
  if (!parsed.success) throw invalidRequest(invalidFields(path, parsed.error.issues))
  return parsed.data.map(incomingPart)
}

/** Whether an output is a list of parts. A list whose items have no part types is an ordinary JSON value. */
const looksLikeParts = (value: Json): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item: Json) => isJsonObject(item) && PART_TYPES.has(item['type']))

function incomingPart(part: ContentPart): RequestPart {
  if (part.type === 'text') return part
  if ('url' in part) return { type: 'image', url: part.url, ...definedFields({ filename: part.filename }) }
  return {
    type: part.type,
    mediaType: part.media_type.toLowerCase(),
    ...definedFields({ filename: part.filename }),
    data: Buffer.from(part.data, 'base64'),
  }
}
