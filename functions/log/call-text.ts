import { isExactNumber } from '../domain/json.ts'
import type { ToolCall } from '../domain/messages/message.ts'
import { readJson } from './json/exact-json.ts'
import { jsonFault } from './json/json-size.ts'

/**
 * Matches a string, a structural character, or a number or word, in a text that is known to be JSON. A string is
 * matched in sections without backtracking, because otherwise the stack overflows on a string of megabytes.
 */
const JSON_TOKEN = /"(?:(?=((?:[^"\\]|\\.){1,1000}))\1)*"|[{}[\],:]|[^\s"{}[\],:]+/gsu

/**
 * Returns a call as one compact line, `name(key=value, key2=value2)`: values as compact JSON, keys in the model's
 * order, numbers as the model wrote them. Without arguments: `name()`. With arguments that are malformed or not an
 * object: `name(<raw text>)`.
 */
export function callText(call: Pick<ToolCall, 'name' | 'arguments'>): string {
  if (call.arguments.trim() === '') return `${call.name}()`
  return `${call.name}(${isJsonObject(call.arguments) ? compactPairs(call.arguments) : call.arguments})`
}

function isJsonObject(text: string): boolean {
  if (jsonFault(text) !== undefined) return false
  try {
    const value = readJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

/**
 * Removes white space from the JSON text without printing the parsed value. Printing would lose `4.0`, long integers,
 * repeated keys and the order of keys that look like integers.
 */
function compactPairs(json: string): string {
  let depth = 0
  let key = true
  let line = ''
  for (const [token] of json.matchAll(JSON_TOKEN)) {
    if (token === '}' || token === ']') depth--
    if (depth === 1 && token === ',') line += ', '
    else if (depth === 1 && token === ':') line += '='
    else if (depth === 1 && key) line += JSON.parse(token) as string
    else if (depth > 0) line += token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token
    if (token === '{' || token === '[') depth++
    key = depth === 1 && (token === ',' || token === '{')
  }
  return line
}
