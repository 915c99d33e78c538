import { readJson } from '../../../log/json/exact-json.ts'

/** Fields in which providers describe an error. Other fields may repeat the request, and with it the conversation. */
const WORDS = new Set(['message', 'Message', 'msg', 'code', 'type', 'error_type', 'n_ctx', 'n_prompt_tokens'])
/** Fields that contain such fields, or a text. `raw` and `metadata`: the error of a provider behind a gateway. */
const CONTAINERS = new Set(['error', 'errors', 'detail', 'details', 'metadata', 'raw', 'response'])
/** Maximum characters of a body that is not JSON. */
const MAX_PLAIN_CHARACTERS = 500
const MAX_DEPTH = 6

/**
 * Returns what an error says in its own words, as text of JSON fields. The rest of its body is left out: a server may repeat the
 * request that it refuses. `error`: the parsed frame of a stream, or the body as text.
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
