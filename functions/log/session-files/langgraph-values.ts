import { decode, ExtensionCodec } from '@msgpack/msgpack'
import { readJson } from '../json/exact-json.ts'
import { isRecord } from './transcript.ts'

/**
 * Codes of extensions for objects with fields: constructors with keyword arguments, and Pydantic models. Their content is
 * `[module, class, fields, …]`.
 */
const WITH_FIELDS = [2, 4, 5]
/** Code of the extension for a snapshot. A snapshot has the whole value of a channel that is otherwise stored as changes. */
const SNAPSHOT = 7

/** An object of LangGraph: its class and its fields. Other kinds of extensions are ignored. */
export interface GraphObject {
  readonly className: string
  readonly fields: { readonly [name: string]: unknown }
}

const codec = new ExtensionCodec()
for (const type of WITH_FIELDS)
  codec.register({
    type,
    encode: () => null,
    decode: (bytes): GraphObject | undefined => {
      const [, className, fields] = unpacked(bytes) as unknown[]
      return typeof className === 'string' && isRecord(fields) ? { className, fields } : undefined
    },
  })
codec.register({ type: SNAPSHOT, encode: () => null, decode: (bytes) => unpacked(bytes) })

/** Decodes MessagePack. Integers of eight bytes become `bigint`, because a number cannot represent all of them. */
const unpacked = (bytes: Uint8Array): unknown => decode(bytes, { extensionCodec: codec, useBigInt64: true })

/**
 * Decodes a value of LangGraph's serializer: MessagePack or, in older versions, JSON. Executes no code from the value. Throws for
 * bytes that are neither.
 */
export function graphValue(type: string, bytes: Uint8Array): unknown {
  if (type === 'msgpack') return withoutBigInts(unpacked(bytes))
  if (type === 'json') return revived(readJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  throw new Error(`is of an unknown type: ${type.slice(0, 40)}`)
}

/** Replaces each `bigint` by a number. A `bigint` beyond the safe integers becomes raw JSON with all its digits. */
function withoutBigInts(value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : JSON.rawJSON(String(value))
  }
  return mapped(value, withoutBigInts)
}

/** Replaces each entry of a list or an object. All other values, including bytes and times, are returned unchanged. */
function mapped(value: unknown, replaced: (entry: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(replaced)
  if (!isRecord(value) || value instanceof Uint8Array || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, replaced(entry)]))
}

function revived(value: unknown): unknown {
  return objectIn(mapped(value, revived))
}

/**
 * Converts an object of the form `{"lc": 1, "type": "constructor", "id": [..., class], "kwargs": {…}}` to a
 * `GraphObject`. Returns any other value unchanged.
 */
function objectIn(value: unknown): unknown {
  if (!isRecord(value) || value['type'] !== 'constructor' || value['lc'] === undefined) return value
  const [id, fields] = [value['id'], value['kwargs']]
  const className: unknown = Array.isArray(id) ? id.at(-1) : undefined
  return typeof className === 'string' && isRecord(fields) ? { className, fields } : value
}

export const isGraphObject = (value: unknown): value is GraphObject =>
  isRecord(value) && typeof value['className'] === 'string' && isRecord(value['fields'])
