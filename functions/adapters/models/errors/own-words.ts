import { readJson } from '../../../log/json/exact-json.ts'

/** Fields in which providers describe an error. Other fields may quote the request, which contains the conversation. */
const WORDS = new Set(['message', 'Message', 'msg', 'code', 'type', 'error_type', 'n_ctx', 'n_prompt_tokens'])
/**
 * Fields that may contain fields of `WORDS`, or a text that describes the error. In `raw` and `metadata`, gateways pass
 * on the error of the provider behind them.
 */
const CONTAINERS = new Set(['error', 'errors', 'detail', 'details', 'metadata', 'raw', 'response'])
/** Maximum characters of a body that is not JSON. */
const MAX_PLAIN_CHARACTERS = 500
const MAX_DEPTH = 6

/**
 * Returns the fields that describe an error, as the text of JSON fields. All other fields are omitted, because a server
 * may quote the request that it refuses. `error`: the parsed frame of a stream, or the body as text.
 */
export function ownWords(error: unknown): string {
  if (error instanceof Error) return ''
  return wordsIn(error, MAX_DEPTH).join(' ')
}

function wordsIn(value: unknown, depth: number): string[] {
  if (depth === 0) return []
  if (typeof value === 'string') return wordsOfText(value, depth)
  if (Array.isArray(value)) return value.flatMap((one) => wordsIn(one, depth - 1))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    if (CONTAINERS.has(name)) return wordsIn(field, depth - 1)
    const isWord = WORDS.has(name) && (typeof field === 'string' || typeof field === 'number')
    return isWord ? [`${JSON.stringify(name)}:${JSON.stringify(field)}`] : []
  })
}

function wordsOfText(text: string, depth: number): string[] {
  try {
    const value: unknown = readJson(text)
    if (typeof value === 'object' && value !== null) return wordsIn(value, depth - 1)
  } catch {
    // The body is plain text.
  }
  return [text.slice(0, MAX_PLAIN_CHARACTERS)]
}
