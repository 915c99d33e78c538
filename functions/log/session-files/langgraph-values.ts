import { decode, ExtensionCodec } from '@msgpack/msgpack'
import { isRecord } from './transcript.ts'

/**
 * Codes of extensions with fields: constructors with keyword arguments, and Pydantic models: `[module, class, fields,
 * …]`.
 */
const WITH_FIELDS = [2, 4, 5]
/** Code of a channel's snapshot; such a channel is stored as changes. */
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
      const [, className, fields] = decode(bytes, { extensionCodec: codec }) as unknown[]
      return typeof className === 'string' && isRecord(fields) ? { className, fields } : undefined
    },
  })
codec.register({ type: SNAPSHOT, encode: () => null, decode: (bytes) => decode(bytes, { extensionCodec: codec }) })

/**
 * Decodes a value of LangGraph's serializer: MessagePack or, in older versions, JSON. Executes nothing in it. Throws
 * for bytes that are neither.
 */
export function graphValue(type: string, bytes: Uint8Array): unknown {
  if (type === 'msgpack') return decode(bytes, { extensionCodec: codec })
  if (type === 'json') return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), revive)
  throw new Error(`is of an unknown type: ${type.slice(0, 40)}`)
}

/** `{"lc": 1, "type": "constructor", "id": [..., class], "kwargs": {…}}` */
function revive(_name: string, value: unknown): unknown {
  if (!isRecord(value) || value['type'] !== 'constructor' || value['lc'] === undefined) return value
  const [id, fields] = [value['id'], value['kwargs']]
  const className: unknown = Array.isArray(id) ? id.at(-1) : undefined
  return typeof className === 'string' && isRecord(fields) ? { className, fields } : value
}

export const isGraphObject = (value: unknown): value is GraphObject =>
  isRecord(value) && typeof value['className'] === 'string' && isRecord(value['fields'])
