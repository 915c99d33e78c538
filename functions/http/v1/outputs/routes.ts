import { createRoute, z } from '@hono/zod-openapi'
import { TooltrailError } from '../../../domain/errors.ts'
import { UNKNOWN_TYPE, isMediaType } from '../../../domain/messages/media-type.ts'
import { textOf, type Message } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { encodeOutput } from '../../../log/formats/output-encoding.ts'
import type { ByteRange } from '../../../ports/output-store.ts'
import { loggedBody } from '../../streaming/logged-body.ts'
import { whileKeyLasts } from '../../streaming/until-key-revoked.ts'
import { isNamed } from '../../etag.ts'
import type { App, AppDependencies, RouteDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { READ_PROBLEMS, problems } from '../problem-responses.ts'
import { messageParams, ulid } from '../fields.ts'
import { findSession } from '../../../access/sessions.ts'

/**
 * Bytes in one read of the store. The next read starts after the client has read these bytes. So a slow download uses
 * little memory.
 */
const CHUNK = 32 * 1024
/**
 * Bytes in one read of the store, for each of the first `MAX_LARGE_READS` concurrent downloads. Few large reads are
 * faster than many small ones, because a distant store takes about the same time for each read.
 */
const LARGE_CHUNK = 512 * 1024
const MAX_LARGE_READS = 16
/**
 * Headers of a redirect to a link. The link grants access like a key, so no cache may keep the response. The output
 * store must not learn the address of the page with the link.
 */
const UNSHARED = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
/** A caller with access may cache a copy, but must revalidate it each time. */
const KEPT = { 'cache-control': 'private, no-cache' }
const etag = z.object({ etag: z.string() })
const anyBytes = { schema: z.string().openapi({ format: 'binary' }) }
// Client generators do not know the wildcard, and use the first type that they know.
const bytes = { 'application/octet-stream': anyBytes, '*/*': anyBytes }

const readOutput = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/messages/{message}/output',
  operationId: 'readOutput',
  summary: "Download a tool result, or a message's image or file, whole",
  tags: ['Messages'],
  request: {
    params: messageParams,
    query: z.strictObject({
      part: ulid.optional().openapi({ description: 'The id of an image or file part.' }),
      via: z.enum(['link']).optional().openapi({
        description:
          'Asks for a redirect to the store of large contents, for downloads that need not pass through here. The link lives five minutes and needs no key: treat it as one. Without such a store, or for small content, this has no effect.',
      }),
    }),
    headers: z.object({
      range: z.string().optional().openapi({ example: 'bytes=0-1023' }),
      'if-range': z
        .string()
        .optional()
        .openapi({ description: 'The range only if this is still the `ETag`; else the whole.' }),
      'if-none-match': z.string().optional().openapi({ description: '304 if this is the `ETag`.' }),
    }),
  },
  responses: {
    200: { description: 'The content, as an attachment.', content: bytes, headers: etag },
    206: { description: 'The range asked for.', content: bytes, headers: etag },
    304: { description: 'The content is the one with the `ETag` in `If-None-Match`.', headers: etag },
    307: {
      description: 'The content is at `Location` for five minutes; only with `via=link`.',
      headers: z.object({ location: z.string() }),
    },
    ...READ_PROBLEMS,
    ...problems(416),
  },
})

/** Content to download. `read` returns the bytes of a range. */
interface Content {
  readonly size: number
  readonly mediaType: string
  readonly filename: string
  /** The entity tag. It is constant, because the content never changes. */
  readonly etag: string
  read(range: ByteRange): Promise<Uint8Array>
  /** A direct link to the store; undefined if the store has none. */
  link(disposition: string): Promise<string | undefined>
}

/** Serves complete outputs as attachments that no browser executes. */
export function outputRoutes(app: App, dependencies: RouteDependencies): void {
  const large = { count: 0 }
  app.openapi(readOutput, async (c) => {
    const { session: id, message: messageId } = c.req.valid('param')
    const { tenant, session } = await findSession(dependencies, c.get('caller'), id)
    const key = { tenant, session }
    const message = await dependencies.reader.message(key, messageId)
    if (message === undefined)
      throw new TooltrailError('message_not_found', `session ${session} has no message ${messageId}`)
    const { part, via } = c.req.valid('query')
    const content = await findContent(dependencies, key, message, part)
    // A signed link is valid for GET only.
    const link = via === 'link' && c.req.method === 'GET' ? await content.link(attachment(content.filename)) : undefined
    if (link !== undefined) return c.body(null, 307, { location: link, ...UNSHARED })
    if (isNamed(c.req.header('if-none-match'), content.etag)) return c.body(null, 304, { etag: content.etag, ...KEPT })
    const wanted = c.req.header('if-range')
    const range = readRange(
      wanted === undefined || wanted === content.etag ? c.req.header('range') : undefined,
      content.size,
    )
    if (range === 'unsatisfiable')
      throw new RequestError(
        416,
        'range_not_satisfiable',
        `the range is outside of the output, which has ${content.size} bytes`,
        {
          headers: { 'content-range': `bytes */${content.size}` },
        },
      )
    const body = (bytes: ByteRange) =>
      loggedBody(
        c,
        dependencies.log,
        whileKeyLasts(dependencies.calls, c.get('caller'), inChunks(content, bytes, large)),
      )
    return download(content, range, body)
  })
}

async function findContent(
  dependencies: AppDependencies,
  key: SessionKey,
  message: Message,
  part: string | undefined,
): Promise<Content> {
  const media = message.parts.find((entry) => 'id' in entry && entry.id === part)
  if (media?.type === 'image' || media?.type === 'file')
    return stored(dependencies, key, media.id, {
      ...media,
      filename: media.filename ?? media.id,
      etag: `"${media.id}"`,
    })
  if (part !== undefined || message.role !== 'tool' || message.output === undefined)
    throw new TooltrailError('output_not_found', `message ${message.id} has no such output`)
  const { object, mediaType, sha256 } = message.output
  const named = { filename: `${message.id}.txt`, etag: `"${sha256}"` }
  if (object !== undefined) return stored(dependencies, key, object, { mediaType, ...named })
  const text = encodeOutput(textOf(message.parts), mediaType)
  return {
    size: text.bytes.length,
    mediaType: text.mediaType,
    ...named,
    read: async ({ start, end }) => text.bytes.subarray(start, end + 1),
    link: async () => undefined,
  }
}

async function stored(
  { outputs }: AppDependencies,
  key: SessionKey,
  name: string,
  { mediaType, filename, etag: tag }: Pick<Content, 'mediaType' | 'filename' | 'etag'>,
): Promise<Content> {
  const found = await outputs.stat(key, name)
  if (found === undefined) throw new TooltrailError('output_not_found', `output ${name} is gone`)
  return {
    size: found.bytes,
    mediaType,
    filename,
    etag: tag,
    read: (range) => outputs.read(key, name, range),
    link: (disposition) => outputs.link(key, name, disposition),
  }
}

/** Number of this process's downloads that read large chunks now. */
interface Large {
  count: number
}

function download(content: Content, range: ByteRange | 'whole', body: (range: ByteRange) => ReadableStream): Response {
  const { start, end } = range === 'whole' ? { start: 0, end: content.size - 1 } : range
  const headers = {
    'content-type': contentType(content.mediaType),
    'content-length': String(end - start + 1),
    'content-disposition': attachment(content.filename),
    'accept-ranges': 'bytes',
    etag: content.etag,
    ...KEPT,
    'content-security-policy': "sandbox; default-src 'none'",
    ...(range === 'whole' ? {} : { 'content-range': `bytes ${start}-${end}/${content.size}` }),
  }
  return new Response(body({ start, end }), {
    status: range === 'whole' ? 200 : 206,
    headers,
  })
}

async function* inChunks(
  content: Content,
  { start, end }: ByteRange,
  large: Large,
): AsyncGenerator<Uint8Array, void, undefined> {
  let isLarge = false
  try {
    for (let position = start; position <= end;) {
      if (!isLarge && end - position >= CHUNK && large.count < MAX_LARGE_READS) {
        isLarge = true
        large.count++
      }
      const bytes = isLarge ? LARGE_CHUNK : CHUNK
      const chunk = await content.read({ start: position, end: Math.min(position + bytes - 1, end) })
      if (chunk.length === 0) throw new TooltrailError('storage_failed', 'an output is shorter than it was')
      position += chunk.length
      yield chunk
    }
  } finally {
    if (isLarge) large.count--
  }
}

/**
 * Returns the `content-type` header for a media type. Rows of former versions may have a media type that is invalid in
 * a header.
 */
function contentType(mediaType: string): string {
  if (!isMediaType(mediaType)) return UNKNOWN_TYPE
  return mediaType.startsWith('text/') && !mediaType.includes(';') ? `${mediaType}; charset=utf-8` : mediaType
}

/** Returns a `content-disposition` header with an ASCII name for old clients, and the real name (RFC 6266). */
function attachment(filename: string): string {
  const plain = filename.replaceAll(/[^A-Za-z0-9._ -]/g, '_')
  const encoded = encodeURIComponent(filename.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/**
 * Reads the range that a `Range` header requests. `size`: number of bytes of the content. `whole` if the header
 * requests no range, several ranges, or something that is not a byte range (RFC 9110 allows ignoring all of these).
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '')
  const [first, last] = [match?.[1] ?? '', match?.[2] ?? '']
  if (first === '' && last === '') return 'whole'
  if (first === '')
    return Number(last) === 0 || size === 0
      ? 'unsatisfiable'
      : { start: Math.max(0, size - Number(last)), end: size - 1 }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < start) return 'whole'
  return start >= size ? 'unsatisfiable' : { start, end }
}
