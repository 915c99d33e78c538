import type { RecordedRequest } from '../../model-server/recording-server.ts'
import type { Wire } from './wires.ts'

export interface WireCall {
  readonly id: string
  readonly name: string
}

/** A model request, read from any of the four formats. */
export interface WireBody {
  readonly wire: Wire
  readonly model: string
  readonly text: string
  readonly calls: readonly WireCall[]
  /** Ids of the results. */
  readonly results: readonly string[]
  /** Names of the declared tools. */
  readonly tools: readonly string[]
  /**
   * Reasoning data that the provider expects in later requests: signatures, encrypted content, or text (Chat
   * Completions).
   */
  readonly reasoning: readonly string[]
  /** Whether the request contains the bytes of an image or a file. */
  readonly hasMedia: boolean
}

type Node = { readonly [key: string]: unknown }

export function readWireBody(wire: Wire, { body: text, path }: RecordedRequest): WireBody {
  const body = JSON.parse(text) as Node
  const nodes = [...objectsIn(body['messages'] ?? body['input'])]
  const declared = [...objectsIn([body['tools'], body['toolConfig']])]
  return {
    wire,
    model: typeof body['model'] === 'string' ? body['model'] : decodeURIComponent(path.split('/')[2] ?? ''),
    text,
    calls: nodes.flatMap(callIn),
    results: nodes.flatMap((node) =>
      strings(node['tool_call_id'] ?? outputId(node) ?? node['tool_use_id'] ?? idOf(node['toolResult'])),
    ),
    tools: declared.flatMap((node) => (hasSchema(node) ? strings(node['name']) : [])),
    reasoning: nodes.flatMap((node) =>
      strings(
        node['signature'] ??
          node['encrypted_content'] ??
          node['reasoning_content'] ??
          (node['type'] === 'redacted_thinking' ? node['data'] : undefined),
      ),
    ),
    hasMedia: /"(?:image_url|input_image|bytes|input_file)"|"type":"(?:image|document|file)"/.test(text),
  }
}

/**
 * Yields every object of a JSON value, except objects within arguments. Arguments in a text contain
 * no objects, and parsed arguments are skipped.
 */
function* objectsIn(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const item of value) yield* objectsIn(item)
  else if (typeof value === 'object' && value !== null) {
    yield value as Node
    for (const [key, inner] of Object.entries(value))
      if (!['input', 'parameters', 'inputSchema', 'input_schema'].includes(key)) yield* objectsIn(inner)
  }
}

function callIn(node: Node): WireCall[] {
  if (node['type'] === 'function' && isNode(node['function']))
    return [{ id: String(node['id']), name: String(node['function']['name']) }]
  if (node['type'] === 'function_call') return [{ id: String(node['call_id']), name: String(node['name']) }]
  if (node['type'] === 'tool_use') return [{ id: String(node['id']), name: String(node['name']) }]
  const use = node['toolUse']
  return isNode(use) ? [{ id: String(use['toolUseId']), name: String(use['name']) }] : []
}

const outputId = (node: Node): unknown => (node['type'] === 'function_call_output' ? node['call_id'] : undefined)
const idOf = (node: unknown): unknown => (isNode(node) ? node['toolUseId'] : undefined)
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null
const strings = (value: unknown): string[] => (typeof value === 'string' ? [value] : [])
const hasSchema = (node: Node): boolean => ['parameters', 'inputSchema', 'input_schema'].some((key) => key in node)

const IDS: { readonly [wire in Wire]: RegExp } = {
  chat: /^[\x21-\x7e]+$/,
  responses: /^[a-zA-Z0-9_-]{1,64}$/,
  messages: /^[a-zA-Z0-9_-]{1,64}$/,
  bedrock: /^[a-zA-Z0-9_-]{1,64}$/,
}
const NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** Returns the reason why the provider of this wire refuses a name or id of the request; undefined if it accepts all. */
export function refusalOfNames({ wire, calls, results, tools }: WireBody): string | undefined {
  const name = [...calls.map((call) => call.name), ...tools].find((one) => !NAME.test(one))
  if (name !== undefined) return `name: string does not match the pattern: ${JSON.stringify(name)}`
  const id = [...calls.map((call) => call.id), ...results].find((one) => !IDS[wire].test(one))
  if (id !== undefined) return `id: string does not match the pattern, or is too long: ${JSON.stringify(id)}`
  return calls.map((call) => call.id).join() === results.join() ? undefined : 'a call has no result'
}
