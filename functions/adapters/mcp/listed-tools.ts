import { isJsonObject } from '../../domain/json.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { ListedTools } from './connection.ts'

/** Maximum number of tools per server; further ones are dropped. */
const MAX_TOOLS = 128
/** Maximum bytes of JSON of one tool, and of all tools of a server. */
const MAX_TOOL_BYTES = 64 * 1024
const MAX_LIST_BYTES = 256 * 1024
/**
 * A warning names the absent tools, grouped by the reason. These are the maximum number of names per reason, and the
 * maximum characters of a name.
 */
const MAX_NAMED = 10
const MAX_NAME_CHARACTERS = 80

/** A tool as a server declared it when a run began. */
export interface DeclaredTool {
  /** The tool's name on the server. */
  readonly name: string
  readonly description: string
  /** Schema of the arguments, as the server sent it. */
  readonly parameters: JsonObject
  /** Whether the server marks the tool as idempotent. */
  readonly repeatable: boolean
}

/**
 * Returns the server's tools that an agent may use, within the limits. `left` names the dropped ones with the reason, if
 * there are any.
 */
export function declaredTools(
  { tools: listed, refused }: ListedTools,
  only: readonly string[] | undefined,
): { readonly tools: readonly DeclaredTool[]; readonly left?: string } {
  const tools = new Map<string, { readonly declared: DeclaredTool; readonly json: string }>()
  const refusedNames = new Set(refused)
  const absent = new Map<string, Absent>()
  let wanted = 0
  let bytes = 0
  for (const [index, tool] of listed.entries()) {
    const read = readTool(tool)
    const name = nameIn(tool)
    if (only !== undefined && !(typeof name === 'string' && only.includes(name))) continue
    wanted++
    const fault = (reason: string): void => {
      const { count, names } = absent.get(reason) ?? { count: 0, names: [] }
      absent.set(reason, { count: count + 1, names: count < MAX_NAMED ? [...names, shownName(name, index)] : names })
    }
    if (typeof read === 'string') {
      fault(read)
      continue
    }
    const json = JSON.stringify(read)
    const size = Buffer.byteLength(json)
    const same = tools.get(read.name)
    if (same !== undefined) {
      // A server that ignores cursors sends the same page for each of them.
      if (same.json === json) wanted--
      else fault('another tool of the list has the same name')
    } else if (refusedNames.has(read.name)) fault('its x-mcp-header is not valid')
    else if (size > MAX_TOOL_BYTES) fault(`it has more than ${MAX_TOOL_BYTES} bytes`)
    else if (tools.size >= MAX_TOOLS) fault(`the limit is ${MAX_TOOLS} tools`)
    else if (bytes + size > MAX_LIST_BYTES) fault(`the limit is ${MAX_LIST_BYTES} bytes for all tools`)
    else {
      bytes += size
      tools.set(read.name, { declared: read, json })
    }
  }
  const names = new Set(listed.map(nameIn))
  const missing = only?.filter((name) => !names.has(name)) ?? []
  const left = [
    ...[...absent].map(([reason, odd]) => absence(reason, odd, wanted)),
    ...(missing.length === 0 ? [] : [`it has no tool ${missing.map((name) => JSON.stringify(name)).join(', ')}`]),
  ]
  return {
    tools: [...tools.values()].map(({ declared }) => declared),
    ...(left.length === 0 ? {} : { left: left.join('; ') }),
  }
}

/** The number of tools that are absent for one reason, and the names of the first ones. */
interface Absent {
  readonly count: number
  readonly names: readonly string[]
}

function absence(reason: string, { count, names }: Absent, wanted: number): string {
  const more = count > names.length ? ` and ${count - names.length} more` : ''
  return `${count} of its ${wanted} tools ${count === 1 ? 'is' : 'are'} absent, because ${reason}: ${names.join(', ')}${more}`
}

/** Returns the value that the server sent as the tool's name. It may have any type. */
const nameIn = (tool: Json): Json | undefined => (isJsonObject(tool) ? tool['name'] : undefined)

const shownName = (name: Json | undefined, index: number): string =>
  typeof name === 'string' && name !== ''
    ? JSON.stringify(name.slice(0, MAX_NAME_CHARACTERS).toWellFormed())
    : `tool ${index + 1} of the list`

/** Reads a listed tool; returns the reason if it cannot be used. */
function readTool(tool: Json): DeclaredTool | string {
  if (!isJsonObject(tool)) return 'it is not an object'
  const { name, title, description, inputSchema, annotations } = tool
  if (typeof name !== 'string' || name.trim() === '') return 'it has no name'
  const parameters = readSchema(inputSchema)
  if (typeof parameters === 'string') return parameters
  const hints = isJsonObject(annotations) ? annotations : {}
  const text = [description, title, name].find((one) => typeof one === 'string')
  return {
    name,
    description: String(text).toWellFormed(),
    parameters,
    repeatable: hints['idempotentHint'] === true || hints['readOnlyHint'] === true,
  }
}

/**
 * Returns the schema as the server sent it, or the reason why it cannot be used. Providers refuse requests with a tool
 * whose schema does not describe an object. So a missing type is added, and a tool with another type cannot be used.
 */
function readSchema(schema: Json | undefined): JsonObject | string {
  if (schema === undefined || schema === null) return { type: 'object', properties: {} }
  if (!isJsonObject(schema)) return 'its schema is not an object'
  const { type } = schema
  if (type === 'object') return schema
  const types = Array.isArray(type) ? (type as readonly Json[]) : [type ?? 'object']
  if (!types.some((one) => typeof one === 'string' && one.toLowerCase() === 'object'))
    return 'its schema does not describe an object'
  return { ...schema, type: 'object' }
}
