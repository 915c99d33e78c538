import { isSpecType } from '@modelcontextprotocol/client'
import { isJsonObject } from '../../domain/json.ts'
import type { Json, JsonObject } from '../../domain/json.ts'

/** A request that was sent to the server. The responses to it are repaired. */
export interface SentRequest {
  readonly method?: unknown
  readonly id?: unknown
}

/**
 * Results as the server sent them. The MCP package validates each result as a whole, and would reject it for a single invalid
 * field.
 */
export interface Received {
  /** Result of the call. */
  call?: Json
  /** Results of the list, one per page. */
  readonly pages: Json[]
}

/**
 * Result that the package gets in place of a call's real result. The package accepts it in every revision of the
 * protocol, and with every output schema of a tool.
 */
const PLACEHOLDER = { content: [], structuredContent: {}, resultType: 'complete' }
const INTERNAL_ERROR = -32_603

/**
 * Returns a message in the form that the MCP package accepts. A valid message is returned unchanged. Results of calls
 * and lists are stored in `received`. In place of a call's result, the package gets a placeholder. In place of a list,
 * it gets only the fields that it uses.
 */
export function repairMessage(message: Json, sent: SentRequest, received: Received | undefined): Json {
  if (Array.isArray(message)) {
    const repaired: readonly Json[] = message.map((one: Json) => repairMessage(one, sent, received))
    return repaired.some((one, index) => one !== message[index]) ? repaired : message
  }
  if (!isJsonObject(message) || 'method' in message || !isSameId(message['id'], sent.id)) return message
  if (!('result' in message) && !('error' in message)) return message
  const { error, result = null } = message
  const envelope = { jsonrpc: '2.0', id: sent.id as Json }
  if (error !== undefined && error !== null && result === null) {
    const repaired = { ...envelope, error: repairError(error) }
    return isSpecType.JSONRPCErrorResponse(message) && message['id'] === sent.id ? message : repaired
  }
  const shown = repairResult(result, sent, received)
  const isUnchanged = shown === result && isSpecType.JSONRPCResultResponse(message) && message['id'] === sent.id
  return isUnchanged ? message : { ...envelope, result: shown }
}

/**
 * Whether a response is for this request. Some servers send the id as text, or omit it. Such a response is accepted,
 * because it can belong to no other request.
 */
const isSameId = (id: Json | undefined, sent: unknown): boolean =>
  sent !== undefined && (id === sent || id === undefined || id === null || id === JSON.stringify(sent))

function repairError(error: Json): Json {
  if (!isJsonObject(error))
    return { code: INTERNAL_ERROR, message: typeof error === 'string' ? error : JSON.stringify(error) }
  const { code, message, data } = error
  return {
    code: Number.isSafeInteger(code) ? (code as number) : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : JSON.stringify(message ?? error),
    ...(data === undefined || data === null ? {} : { data }),
  }
}

function repairResult(result: Json, { method }: SentRequest, received: Received | undefined): Json {
  if (method === 'server/discover') return withoutNull(result)
  if (method === 'initialize') return repairIntroduction(withoutNull(result))
  if (received === undefined) return result
  if (method === 'tools/call') {
    // The server asks for input, which this client never sends. The package fails the call.
    if (isJsonObject(result) && result['resultType'] === 'input_required') return result
    received.call = result
    return PLACEHOLDER
  }
  if (method !== 'tools/list' || !isJsonObject(result)) return result
  const tools = result['tools'] === null ? [] : result['tools']
  if (!Array.isArray(tools)) return result
  received.pages.push(result)
  return repairList(result, tools as readonly Json[])
}

/** Adds missing fields to the result of `initialize`. The package requires them, but they do not affect the tools. */
function repairIntroduction(result: Json): Json {
  if (!isJsonObject(result)) return result
  const info = isJsonObject(result['serverInfo']) ? result['serverInfo'] : {}
  const [name, version] = [info['name'], info['version']].map((text) => (typeof text === 'string' ? text : ''))
  const isWhole = name === info['name'] && version === info['version'] && isJsonObject(result['capabilities'])
  return isWhole
    ? result
    : { ...result, capabilities: result['capabilities'] ?? { tools: {} }, serverInfo: { ...info, name, version } }
}

function withoutNull(value: Json): Json {
  if (!isJsonObject(value)) return value
  const fields = Object.entries(value).filter(([, one]) => one !== null)
  const kept = fields.map(([name, one]) => [name, one === undefined ? one : withoutNull(one)] as const)
  const isUnchanged = kept.length === Object.keys(value).length && kept.every(([name, one]) => one === value[name])
  return isUnchanged ? value : Object.fromEntries(kept)
}

/**
 * Returns a page with only the fields that the package uses. These are the tools' names, and their schemas, which may
 * contain `x-mcp-header`.
 */
function repairList(page: JsonObject, tools: readonly Json[]): Json {
  const { nextCursor: next, ttlMs, cacheScope } = page
  return {
    resultType: 'complete',
    ttlMs: typeof ttlMs === 'number' && Number.isSafeInteger(ttlMs) && ttlMs >= 0 ? ttlMs : 0,
    cacheScope: cacheScope === 'public' ? 'public' : 'private',
    tools: tools.flatMap(repairTool),
    ...(typeof next === 'string' && next !== '' ? { nextCursor: next } : {}),
    ...(typeof next === 'number' ? { nextCursor: String(next) } : {}),
  }
}

function repairTool(tool: Json): Json[] {
  if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return []
  const { name, inputSchema } = tool
  const whole = { name, inputSchema: inputSchema ?? null }
  const isFormal: boolean = isSpecType.Tool(whole)
  if (isFormal) return [whole]
  const properties =
    isJsonObject(inputSchema) && isJsonObject(inputSchema['properties']) ? inputSchema['properties'] : {}
  const objects = Object.entries(properties).filter(([, one]) => isJsonObject(one))
  return [{ name, inputSchema: { type: 'object', properties: Object.fromEntries(objects) } }]
}
