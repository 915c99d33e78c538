import type { Tool } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../domain/json.ts'

/** Maximum number of tools per server; further ones are dropped. */
const MAX_TOOLS = 128
/** Maximum bytes of JSON of one tool, and of all tools of a server. */
const MAX_TOOL_BYTES = 64 * 1024
const MAX_LIST_BYTES = 256 * 1024

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
 * Returns the server's tools that an agent may use, within the limits. `left` describes what was dropped, if anything
 * was.
 */
export function declaredTools(
  listed: readonly Tool[],
  only: readonly string[] | undefined,
): { readonly tools: readonly DeclaredTool[]; readonly left?: string } {
  const wanted = listed.filter(({ name }) => only === undefined || only.includes(name))
  const tools = new Map<string, DeclaredTool>()
  let bytes = 0
  for (const tool of wanted) {
    const declared = declarationOf(tool)
    const size = Buffer.byteLength(JSON.stringify(declared))
    if (tools.size >= MAX_TOOLS || size > MAX_TOOL_BYTES || bytes + size > MAX_LIST_BYTES || tools.has(tool.name))
      continue
    bytes += size
    tools.set(tool.name, declared)
  }
  const count = wanted.length - tools.size
  const missing = only?.filter((name) => !listed.some((tool) => tool.name === name)) ?? []
  const left = [
    ...(count === 0
      ? []
      : [`${count} of its ${wanted.length} tools are absent: they are too many, too large or repeated`]),
    ...(missing.length === 0 ? [] : [`it has no tool ${missing.map((name) => JSON.stringify(name)).join(', ')}`]),
  ]
  return { tools: [...tools.values()], ...(left.length === 0 ? {} : { left: left.join('; ') }) }
}

function declarationOf({ name, title, description, inputSchema, annotations }: Tool): DeclaredTool {
  return {
    name,
    description: (description ?? title ?? name).toWellFormed(),
    parameters: inputSchema as JsonObject,
    repeatable: annotations?.idempotentHint === true || annotations?.readOnlyHint === true,
  }
}
