import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream'
import type { Readable, Transform } from 'node:stream'
import { TextDecoder } from 'node:util'
import { constants, createBrotliDecompress, createUnzip } from 'node:zlib'

const TEXTUAL =
  /^(text\/.+|application\/(.+\+)?(json|xml|yaml|x-yaml|x-ndjson|javascript|ecmascript|x-www-form-urlencoded))$/
/** Maximum number of content encodings. A body with two is legal; a body with many is an attack. */
const MAX_ENCODINGS = 2

export interface Body {
  readonly bytes: Uint8Array
  /** Whether the body exceeded the limit and was truncated. */
  readonly cut: boolean
}

/** Reads at most `limit` bytes, counted after decompression, and then ends the transfer. */
export async function readBody(response: IncomingMessage, limit: number): Promise<Body> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of decoded(response) as AsyncIterable<Uint8Array>) {
      chunks.push(chunk.subarray(0, limit - size))
      size += chunk.byteLength
      if (size > limit) break
    }
  } finally {
    response.destroy()
  }
  return { bytes: Buffer.concat(chunks), cut: size > limit }
}

/**
 * Returns the text of a body; undefined if it is not text. The media type decides. Without a media type, the bytes
 * decide.
 */
export function textOfBody({ bytes, cut }: Body, contentType: string | undefined): string | undefined {
  const [mediaType = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (mediaType === '') return plainText(bytes, cut)
  if (!TEXTUAL.test(mediaType)) return undefined
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8)
  return decoderFor(charset?.replaceAll('"', '')).decode(bytes, { stream: cut })
}

function decoded(response: IncomingMessage): Readable {
  const encodings = (response.headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const decoders = encodings.filter((name) => name !== '' && name !== 'identity').map(decompressor)
  if (decoders.length > MAX_ENCODINGS) throw new Error(`content-encoding ${encodings.join(', ')} is refused`)
  // An error of any stream reaches the reader of the last stream. The callback does nothing, but `pipeline` requires
  // one.
  return decoders.reduceRight<Readable>((source, decoder) => pipeline(source, decoder, () => undefined), response)
}

/**
 * Decompresses up to the last received byte. Truncated or empty input is no error: for example, a response to HEAD
 * names an encoding but has no body.
 */
function decompressor(encoding: string): Transform {
  if (encoding === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
  if (encoding === 'gzip' || encoding === 'x-gzip' || encoding === 'deflate')
    return createUnzip({ finishFlush: constants.Z_SYNC_FLUSH })
  throw new Error(`content-encoding ${encoding} is not supported`)
}

function decoderFor(charset: string | undefined): TextDecoder {
  try {
    return new TextDecoder(charset)
  } catch (error) {
    // The charset is unknown; the bytes are probably UTF-8.
    if (error instanceof RangeError) return new TextDecoder()
    throw error
  }
}

function plainText(bytes: Uint8Array, cut: boolean): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut })
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
