import { createReadStream } from 'node:fs'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { linesOf, utf8Of } from '../../log/import/lines.ts'
import { readJson } from '../../log/json/exact-json.ts'
import type { Fault, FileLine } from '../../log/session-files/transcript.ts'

/** Bytes in one read. */
const PIECE = 1024 * 1024

/** Limit of the decompressed bytes, because a small file may decompress to a huge one. */
const MAX_DECOMPRESSED_BYTES = 2 * 1024 ** 3

/**
 * Reads the JSON lines of a plain or compressed file (`.zst`, `.gz`), and the faults of its other lines. If a
 * compressed file is damaged or too large, returns the lines before the damage or the limit. At most one long line is
 * in memory twice.
 */
export async function readLines(path: string): Promise<{ readonly lines: FileLine[]; readonly faults: Fault[] }> {
  const lines: FileLine[] = []
  const faults: Fault[] = []
  let last = 0
  const end = (reason: string): unknown => faults.push({ line: last + 1, reason })
  for await (const { number, bytes, ended } of linesOf(bytesOf(path, end))) {
    last = number
    if (bytes === undefined) {
      faults.push({ line: number, reason: 'is longer than 32 MB' })
      continue
    }
    const read = valueOf(bytes)
    if ('value' in read) lines.push({ line: number, value: read.value })
    else if (read.fault !== '')
      faults.push({ line: number, reason: ended ? read.fault : `${read.fault}, and is not complete yet` })
  }
  return { lines, faults }
}

/** Reads the bytes of a file. If a compressed file cannot be decompressed further, calls `end` and stops. */
async function* bytesOf(path: string, end: (reason: string) => unknown): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: PIECE })
  const decompress = path.endsWith('.zst') ? createZstdDecompress() : path.endsWith('.gz') ? createGunzip() : undefined
  if (decompress === undefined) {
    yield* file as AsyncIterable<Buffer>
    return
  }
  let failure: Error | undefined
  file.on('error', (error) => {
    failure = error
    decompress.end()
  })
  let total = 0
  try {
    for await (const bytes of file.pipe(decompress) as AsyncIterable<Buffer>) {
      total += bytes.length
      if (total > MAX_DECOMPRESSED_BYTES) return void end('and what follows is skipped: more than 2 GB decompressed')
      yield bytes
    }
  } catch (error) {
    if (failure === undefined) end(`and what follows cannot be decompressed: ${codeOf(error)}`)
  } finally {
    file.destroy()
  }
  if (failure !== undefined) throw failure
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)

/**
 * Parses bytes as JSON. Numbers stay as they were written. Returns the value or the fault. For an empty line, the fault
 * is an empty text. Skips a byte order mark.
 */
export function valueOf(bytes: Buffer): { readonly value: unknown } | { readonly fault: string } {
  const text = utf8Of(bytes)
  if (text === undefined) return { fault: 'is not UTF-8' }
  if (text.trim() === '') return { fault: '' }
  try {
    return { value: readJson(text) }
  } catch (error) {
    // Deep nesting causes a RangeError.
    if (error instanceof SyntaxError || error instanceof RangeError) return { fault: 'is not JSON' }
    throw error
  }
}
