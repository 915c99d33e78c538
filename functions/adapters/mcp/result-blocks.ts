import { isJsonObject } from '../../domain/json.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { IncomingMedia } from '../../ports/tool.ts'

/** Maximum bytes of one image or file (docs/reference/mcp.md, "Limits"). */
const MAX_MEDIA_BYTES = 20 * 1024 * 1024
/** Maximum characters of an unknown type's name in a message. */
const MAX_TYPE_CHARACTERS = 40
const OCTETS = 'application/octet-stream'

/** One part of a result's content. */
export interface ReadBlock {
  readonly text?: string
  readonly media?: IncomingMedia
  /** The reason why the part cannot be used. */
  readonly fault?: string
}

/** Returns a field as text; undefined if it is absent or null. */
function textOf(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Reads a part of a result. Fields may be missing, null or unknown. */
export function readBlock(block: Json): ReadBlock {
  if (!isJsonObject(block)) {
    const text = Array.isArray(block) ? undefined : textOf(block)
    return text === undefined ? { fault: block === null ? 'null' : 'a list' } : { text }
  }
  switch (typeOf(block)) {
    case 'text':
      return readText(block)
    case 'image':
    case 'audio':
      return readMedia(block)
    case 'resource':
      return readResource(isJsonObject(block['resource']) ? block['resource'] : block)
    case 'resource_link':
      return readLink(block)
    default:
      return readUnknown(block)
  }
}

/** Returns a part's type. If the part names no type, its fields determine the type. */
function typeOf({ type, text, resource, data, blob, uri, mimeType }: JsonObject): Json | undefined {
  if (type !== undefined && type !== null) return typeof type === 'string' ? type.toLowerCase() : type
  if (text !== undefined && text !== null && uri === undefined) return 'text'
  if (isJsonObject(resource) || blob !== undefined) return 'resource'
  if (typeof data === 'string' && typeof mimeType === 'string') return mimeType.startsWith('image/') ? 'image' : 'audio'
  return typeof uri === 'string' ? (text === undefined ? 'resource_link' : 'resource') : undefined
}

function readText({ text }: JsonObject): ReadBlock {
  const shown = textOf(text)
  return shown === undefined ? { fault: 'a text without text' } : { text: shown }
}

function readMedia({ type, data, mimeType }: JsonObject): ReadBlock {
  const name = type === 'image' || type === 'audio' ? type : 'media'
  if (typeof data !== 'string' || data === '') return { fault: `${name} without data` }
  const embedded = /^data:([^;,]+)?(?:;[^;,]+)*;base64,/iu.exec(data)
  const bytes = Buffer.from(embedded === null ? data : data.slice(embedded[0].length), 'base64')
  const named = typeof mimeType === 'string' && mimeType !== '' ? mimeType : embedded?.[1]
  const mediaType = named ?? (type === 'image' ? imageType(bytes) : OCTETS)
  const isImage = type === 'image' && (named !== undefined || mediaType !== OCTETS)
  return mediaOf(bytes, { type: isImage ? 'image' : 'file', mediaType })
}

function readResource(resource: JsonObject): ReadBlock {
  const { text, blob, uri, mimeType } = resource
  const shown = textOf(text)
  if (shown !== undefined) return { text: shown }
  if (typeof blob !== 'string')
    return typeof uri === 'string' ? readLink(resource) : { fault: 'a resource without content' }
  const mediaType = typeof mimeType === 'string' && mimeType !== '' ? mimeType : OCTETS
  const name =
    typeof uri === 'string'
      ? uri
          .split(/[/\\?#]/)
          .findLast((part) => part !== '')
          ?.slice(0, 255)
      : undefined
  const type = mediaType.startsWith('image/') ? 'image' : 'file'
  return mediaOf(Buffer.from(blob, 'base64'), { type, mediaType, ...(name === undefined ? {} : { filename: name }) })
}

function readLink({ title, name, uri }: JsonObject): ReadBlock {
  if (typeof uri !== 'string') return { fault: 'a link without an address' }
  const shown = textOf(title) ?? textOf(name)
  return { text: shown === undefined ? uri : `${shown} — ${uri}` }
}

/** Reads a part whose type is unknown or missing: uses its text, if it has one. */
function readUnknown({ type, text }: JsonObject): ReadBlock {
  if (typeof text === 'string') return { text }
  if (type === undefined || type === null) return { fault: 'no type' }
  const name = typeof type === 'string' ? type : JSON.stringify(type)
  return { fault: `of the type ${JSON.stringify(name.slice(0, MAX_TYPE_CHARACTERS))}` }
}

function mediaOf(data: Uint8Array, media: Omit<IncomingMedia, 'data'>): ReadBlock {
  if (data.byteLength === 0) return { fault: `${media.type} without base64` }
  if (data.byteLength <= MAX_MEDIA_BYTES) return { media: { ...media, data } }
  return { fault: `${media.type} of ${data.byteLength} bytes; the limit is ${MAX_MEDIA_BYTES}` }
}

const SIGNATURES: readonly (readonly [mediaType: string, hex: string])[] = [
  ['image/png', '89504e470d0a1a0a'],
  ['image/jpeg', 'ffd8ff'],
  ['image/gif', '47494638'],
]

/** Detects the media type of an image from its first bytes. */
function imageType(bytes: Buffer): string {
  const start = bytes.subarray(0, 12).toString('hex')
  if (start.startsWith('52494646') && start.endsWith('57454250')) return 'image/webp'
  return SIGNATURES.find(([, hex]) => start.startsWith(hex))?.[0] ?? OCTETS
}
