import type { ClientTool } from '../../../../domain/runs/run.ts'
import { definedFields } from '../../../../domain/defined-fields.ts'
import { MAX_TOOLS } from '../../../v1/messages/input-schema.ts'
import { refused } from '../../chat/chat-request.ts'
import type { ResponseRequest } from '../response-schemas.ts'

type RequestTool = NonNullable<ResponseRequest['tools']>[number]
type FunctionTool = Extract<RequestTool, { type: 'function' }>

/** The tools of a request. */
export interface RequestTools {
  /** The client's functions, those of namespaces included. Undefined if the request names no tools. */
  readonly tools: readonly ClientTool[] | undefined
  /** The path of each tool's name. */
  readonly toolPaths: readonly string[]
  /** The types of the tools that are ignored, each of them once. */
  readonly ignored: readonly string[]
}

interface PlacedTool {
  readonly tool: ClientTool
  readonly path: string
}

/**
 * Converts the tools of a request to client tools. A tool of a namespace gets the name that the model knows. Tools of
 * other types are ignored: OpenAI's servers execute them, or they have no JSON arguments.
 */
export function readTools({ tools }: Pick<ResponseRequest, 'tools'>): RequestTools {
  const placed = (tools ?? []).flatMap((tool, index): PlacedTool[] => {
    const path = `tools[${index}]`
    if (tool.type === 'function') return [{ tool: clientToolOf(tool), path: `${path}.name` }]
    if (tool.type !== 'namespace') return []
    return tool.tools.flatMap((one, place) =>
      one.type === 'function' ? [{ tool: namespacedTool(tool, one), path: `${path}.tools[${place}].name` }] : [],
    )
  })
  if (placed.length > MAX_TOOLS)
    throw refused('tools', `has ${placed.length} functions, those of namespaces included; the limit is ${MAX_TOOLS}`)
  const ignored = (tools ?? []).flatMap((tool) => {
    if (tool.type === 'function') return []
    return tool.type === 'namespace' ? tool.tools.flatMap(({ type }) => (type === 'custom' ? [type] : [])) : [tool.type]
  })
  const named = typeof tools === 'object' && tools !== null ? placed.map(({ tool }) => tool) : undefined
  return {
    tools: named,
    toolPaths: placed.map(({ path }) => path),
    ignored: [...new Set(ignored)],
  }
}

const SEPARATOR = '__'

/** The name by which the model knows a tool of a namespace. */
export const namespacedName = (namespace: string | null | undefined, name: string): string =>
  typeof namespace === 'string' ? `${namespace}${SEPARATOR}${name}` : name

/** The client's own name of a tool of this namespace. */
export const ownName = (namespace: string, name: string): string => name.slice(namespace.length + SEPARATOR.length)

const namespacedTool = (
  { name: namespace, description }: Extract<RequestTool, { type: 'namespace' }>,
  tool: FunctionTool,
): ClientTool => {
  // The model gets no description of the namespace itself. So the namespace's description replaces a missing description
  // of a tool.
  const { name, ...rest } = clientToolOf({ ...tool, description: tool.description ?? description })
  return { name: namespacedName(namespace, name), namespace, ...rest }
}

const clientToolOf = ({ name, description, parameters, strict }: FunctionTool): ClientTool => ({
  name,
  description: description ?? '',
  parameters: parameters ?? { type: 'object', properties: {} },
  ...definedFields({ strict: strict ?? undefined }),
})
