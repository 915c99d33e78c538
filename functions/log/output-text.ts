import { StringDecoder } from 'node:string_decoder'
import { encodingOf } from './formats/output-encoding.ts'

/**
 * Bytes per read. A read is large enough to need few requests to a distant store, and small enough to save memory. The number is
 * even, so that no read ends within a code unit of UTF-16.
 */
const READ_BYTES = 524_288

interface Output {
  readonly bytes: number
  readonly mediaType: string
}

/**
 * Yields the text of an output in pieces of at most 512 KB. `read` returns the bytes from `start` to `end`, both
 * inclusive.
 */
export async function* outputText(
  read: (range: { readonly start: number; readonly end: number }) => Promise<Uint8Array>,
  { bytes, mediaType }: Output,
): AsyncGenerator<string> {
  const decoder = new StringDecoder(encodingOf(mediaType) === 'utf-8' ? 'utf8' : 'utf16le')
  for (let start = 0; start < bytes; start += READ_BYTES)
    yield decoder.write(Buffer.from(await read({ start, end: Math.min(bytes, start + READ_BYTES) - 1 })))
  yield decoder.end()
}
