import type { Json } from '../domain/json.ts'
import { KEY_BEGINNINGS, NAME_AND_PASSWORD } from '../domain/key-forms.ts'

/** Base64 of at least so many characters is a file, as providers quote it when they refuse a request. */
const ENCODED = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{256,}={0,2}/g
/** A whole key or a part of one, as providers and servers quote them when they refuse one. */
const KEY = new RegExp(
  `${NAME_AND_PASSWORD}|(?<![A-Za-z0-9])(?:${KEY_BEGINNINGS})[A-Za-z0-9_+/-]{16,}={0,2}` +
    // behind a word for keys
    String.raw`|(?<=(?:bearer|api[ _-]?key|authorization|token)(?: provided)?[\\"']{0,2} ?[:= ] ?[\\"']{0,2})(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{12,}`,
  'gi',
)

/** Characters of a text that are looked at, and that a line may show of it. */
const [MOST_READ, MOST_SHOWN] = [100_000, 8_000]

type Fields = { readonly [name: string]: Json | undefined }

/** A text for a log line: without the bytes of files and what has the form of a key, and of bounded length. */
export function logText(text: string): string {
  const shown = text
    .slice(0, MOST_READ)
    .replaceAll(ENCODED, ({ length }) => `[${length} characters of base64]`)
    .replaceAll(KEY, '[redacted]')
  if (text.length <= MOST_READ && shown.length <= MOST_SHOWN) return shown
  return `${shown.slice(0, MOST_SHOWN)} … [${text.length} characters]`
}

/** The same for every text in a line's fields. */
export const logFields = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value === undefined ? value : logValue(value)]),
  )

function logValue(value: Json): Json {
  if (typeof value === 'string') return logText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(logValue)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, logValue(inner as Json)]))
}

/** What a line says of an error: its stack. */
export const logError = (cause: unknown): string =>
  logText(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause))
