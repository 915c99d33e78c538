import type { Json } from '../domain/json.ts'
import { KEY_BEGINNINGS, NAME_AND_PASSWORD, PRIVATE_KEY_BEGINS, SIGNATURES } from '../domain/keys/key-forms.ts'

/**
 * Matches 256 or more characters of base64, which count as a file. Providers quote files when they reject a request.
 */
const ENCODED = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{256,}={0,2}/g
const QUOTES = String.raw`[\\"']{0,3}`
const VALUE = '[A-Za-z0-9_.~+/=-]'
/** Matches the last character of a key. A full stop is excluded, because a sentence may end after the key. */
const LAST = '[A-Za-z0-9_~+/=-]'
const WITH_DIGIT = '(?=[A-Za-z_.~+/=-]{0,200}[0-9])'

/**
 * Patterns of whole or partial keys, as sources of regular expressions. Providers and servers quote keys when they
 * reject them.
 */
export const KEY_PATTERNS = {
  'name and password in an address': NAME_AND_PASSWORD,
  signature: SIGNATURES.join('|'),
  cookie: String.raw`(?<=cookie${QUOTES} ?[:=] ?${QUOTES})[A-Za-z0-9_.-]{1,100}=[^\s"\\](?:[^\r\n"\\]{0,4096}[^\s"\\.])?`,
  'private key': String.raw`${PRIVATE_KEY_BEGINS}(?:[\s\\nr]{1,16}[A-Za-z-]{1,20}: [^\s\\]{1,100}){0,4}[A-Za-z0-9+/=\s\\]{0,10000}`,
  'JSON web token': String.raw`(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}`,
  'known beginning': String.raw`(?<![A-Za-z0-9])(?:${KEY_BEGINNINGS})[A-Za-z0-9_+/-]{16,}(?:\.[A-Za-z0-9_-]{16,}){0,2}={0,2}`,
  'header with a scheme': `(?<=authorization${QUOTES} {0,2}[:=] {0,2}${QUOTES}(?:bearer|basic|token|digest|negotiate) )${VALUE}{7,}${LAST}`,
  'behind a word for keys': `(?<=(?:bearer|basic|api[ _-]?key|authorization|token)(?: provided)?${QUOTES} ?[:= ] ?${QUOTES})${WITH_DIGIT}${VALUE}{11,}${LAST}`,
  'behind a name for secrets': `(?<=(?:secret|password|passwd|access[_-]?key)${QUOTES} {0,2}[:=] {0,2}${QUOTES})${WITH_DIGIT}${VALUE}{7,}${LAST}`,
} as const
const KEYS = Object.values(KEY_PATTERNS).map((pattern) => new RegExp(pattern, 'gi'))

/** Limits in characters: how much of a text is read, and how much of the text a log line shows. */
const [MAX_READ_CHARACTERS, MAX_SHOWN_CHARACTERS] = [100_000, 8_000]

type Fields = { readonly [name: string]: Json | undefined }

/** Prepares a text for a log line: removes file contents and anything that looks like a key, and limits the length. */
export function logText(text: string): string {
  // Keys are removed first, because a part of a key may be as long as a file.
  const shown = KEYS.reduce(
    (rest, key) => rest.replaceAll(key, '[redacted]'),
    text.slice(0, MAX_READ_CHARACTERS),
  ).replaceAll(ENCODED, ({ length }) => `[${length} characters of base64]`)
  if (text.length <= MAX_READ_CHARACTERS && shown.length <= MAX_SHOWN_CHARACTERS) return shown
  return `${shown.slice(0, MAX_SHOWN_CHARACTERS)} … [${text.length} characters]`
}

/** Applies `logText` to every text in a line's fields. */
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

/** Returns the stack of an error as text for a log line. */
export const logError = (cause: unknown): string =>
  logText(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause))
