import { decode, ExtensionCodec } from '@msgpack/msgpack'
import { isRecord } from './transcript.ts'

/** Constructors with keyword arguments, and models of Pydantic: `[module, class, fields, …]`. */
const WITH_FIELDS = [2, 4, 5]
/** Snapshot of a channel that is kept as changes. */
const SNAPSHOT = 7

/** An object of LangGraph's: its class and its fields. Of any other kind of extension, nothing is needed. */
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
 * A value as LangGraph's serializer wrote it: MessagePack, in older versions JSON. Nothing in it is executed. Throws for bytes
 * that are neither.
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
