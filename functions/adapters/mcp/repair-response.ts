import { isSpecType } from '@modelcontextprotocol/client'
import { isJsonObject } from '../../domain/json.ts'
import type { Json, JsonObject } from '../../domain/json.ts'

/** A request of ours: the responses to it are repaired. */
export interface SentRequest {
  readonly method?: unknown
  readonly id?: unknown
}

/** Results as the server sent them. The protocol's package checks each as a whole, and would discard them for one odd field. */
export interface Received {
  /** Result of the call. */
  call?: Json
  /** Results of the list, one per page. */
  readonly pages: Json[]
}

/** The package takes it in every revision of the protocol, whatever the tool's output schema is. */
const PLACEHOLDER = { content: [], structuredContent: {}, resultType: 'complete' }
const INTERNAL_ERROR = -32_603

/**
 * Returns a message in the form that the protocol's package accepts, and the message itself if nothing needs repair. Results of
 * calls and lists go to `received`; the package gets a placeholder, or the fields of each tool that it uses itself.
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

/** Some servers send an id back as text, or not at all: a response to one request can only be for that request. */
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
    // The package ends this call itself: it needs an answer that no client of ours gives.
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

/** Fields of a server's introduction that the package requires, and that say nothing about its tools. */
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

/** A page with the fields that the package uses: names, and schemas because of their `x-mcp-header`. */
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
