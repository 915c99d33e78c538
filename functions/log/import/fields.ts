import { z } from 'zod'
import { ImportRefused } from '../../domain/messages/closed-message.ts'
import { isJsonObject, type JsonObject } from '../../domain/json.ts'
import { faultsOf } from '../faults.ts'
import { withPlainNumbers } from '../json/exact-json.ts'

/** The latest time that JavaScript writes with a four-digit year, in milliseconds since 1970. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/u

/** Schema of an ISO 8601 time with a zone; parsed to milliseconds since 1970. */
export const time = z
  .string()
  .refine(
    (text) => ISO_TIME.test(text) && inRange(Date.parse(text)),
    'must be a time of ISO 8601 with its zone, from 1970 on',
  )
  .transform((text) => Date.parse(text))

const inRange = (milliseconds: number): boolean => milliseconds >= 0 && milliseconds <= LATEST

export const jsonObject = z.custom<JsonObject>(isJsonObject, 'must be an object')

/** Wraps the schema of a number that the program computes with. It accepts every spelling of the number. */
export const numeric = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(withPlainNumbers, schema)

/** Schema of the names in a message. */
export const shortText = z.string().max(2_048)

const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?;base64,/iu

/** Returns the bytes of a data URL; undefined for any other address, and for data without valid base64. */
export function dataOf(url: string): { readonly mediaType: string; readonly data: Uint8Array } | undefined {
  const [head, type = ''] = DATA_URL.exec(url.slice(0, 512)) ?? []
  if (head === undefined) return undefined
  const base64 = unescaped(url.slice(head.length))
  const data = base64 === undefined ? undefined : bytesOf(base64)
  return data && { mediaType: type === '' ? 'text/plain' : type.toLowerCase(), data }
}

/** Whether an address claims to be a data URL in base64. */
export const isDataUrl = (url: string): boolean => DATA_URL.test(url.slice(0, 512))

/**
 * Decodes base64; undefined if it is invalid. Padding is optional; line breaks and the URL-safe alphabet are accepted.
 */
export function bytesOf(base64: string): Uint8Array | undefined {
  const data = Buffer.from(base64, 'base64')
  // Node skips characters that are not base64, and stops at the first padding.
  const again = data.toString('base64')
  return again === base64 || bare(again) === bare(base64) ? data : undefined
}

const bare = (base64: string): string =>
  base64
    .replace(/\s+/gu, '')
    .replace(/={0,2}$/u, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')

function unescaped(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

/** Parses a message at this path with the schema. Throws `ImportRefused` with the path of each wrong field. */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, at: string): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ImportRefused(
    faultsOf(parsed.error.issues, 20).map(({ path, message }) => ({ path: pathAt(at, path), message })),
  )
}

const pathAt = (at: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${String(key)}`), at)
