import { createHash, randomUUID, type Hash } from 'node:crypto'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linesOf, utf8Of } from '../../../log/import/lines.ts'
import { readJson } from '../../../log/json/exact-json.ts'
import { others } from '../../streaming/document-queue.ts'
import { requireBearable } from '../../middleware/request-body.ts'
import { RequestError } from '../../middleware/request-error.ts'
import type { Spooled } from './spool-budget.ts'

/** Limit of one import, in bytes: a temporary folder can hold this much. */
const MAX_IMPORT_BYTES = 1024 * 1024 * 1024
/** Bytes in one read of a file. */
const PIECE = 256 * 1024
/** Maximum bytes of a body that stay in memory. Most conversations are smaller, and a file would be slower. */
const IN_MEMORY = 1024 * 1024
/** Lines after which the event loop serves other requests. */
const AT_A_TIME = 500
/** Maximum number of empty lines. They are limited, because an empty line takes as long as a short message. */
const MAX_BLANK_LINES = 100_000

/** The lines of a body, stored so that they can be read twice: first to validate all of them, then to store them. */
export interface SpooledLines {
  readonly sha256: string
  /** Yields the JSON value of each line that is not empty. One line is in memory. */
  values(): AsyncGenerator<unknown>
  remove(): Promise<void>
}

/** Stores a body in memory. Stores a large body in a temporary file, within `budget`. */
export async function spoolLines(body: ReadableStream<Uint8Array>, budget: Spooled): Promise<SpooledLines> {
  const hash = createHash('sha256')
  const chunks = bounded(body)
  const held: Buffer[] = []
  let bytes = 0
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    hash.update(next.value)
    held.push(next.value)
    bytes += next.value.length
    if (bytes > IN_MEMORY) return spoolToFile(held, chunks, hash, budget)
  }
  return { sha256: hash.digest('hex'), values: () => valuesOf(held), remove: () => Promise.resolve() }
}

async function* bounded(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer, void> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_IMPORT_BYTES) throw tooLong('an import may have at most 1 GB')
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  }
}

/**
 * Writes the body to a file without a name. The file disappears when it is closed. So no part of a conversation stays
 * on the disk, even if the process is killed (promises L9). `held`: the bytes that were read before and are already
 * hashed.
 */
async function spoolToFile(
  held: readonly Buffer[],
  rest: AsyncIterable<Buffer>,
  hash: Hash,
  budget: Spooled,
): Promise<SpooledLines> {
  const path = join(tmpdir(), `tooltrail-import-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  const remove = async (): Promise<void> => {
    await file.close()
    budget.clear()
  }
  try {
    await unlink(path)
    const keep = async (chunk: Buffer): Promise<void> => {
      budget.grow(chunk.length)
      await file.writeFile(chunk)
    }
    for (const chunk of held) await keep(chunk)
    for await (const chunk of rest) {
      hash.update(chunk)
      await keep(chunk)
    }
    return { sha256: hash.digest('hex'), values: () => valuesOf(piecesOf(file)), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Reads a file from its beginning to its end. */
async function* piecesOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE), 0, PIECE, at)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

async function* valuesOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<unknown> {
  let [read, values] = [0, 0]
  for await (const { number, bytes } of linesOf(chunks)) {
    if (bytes === undefined) throw tooLong('a line may have at most 32 MB')
    const value = valueOf(bytes, number)
    if (value !== undefined) values++
    if (number - values > MAX_BLANK_LINES)
      throw malformed(`more than ${MAX_BLANK_LINES.toLocaleString('en')} lines are empty`)
    if (value !== undefined) yield value
    if (++read % AT_A_TIME === 0) await others()
  }
}

function valueOf(bytes: Uint8Array, number: number): unknown {
  const text = utf8Of(bytes)
  if (text === undefined) throw malformed(`line ${number} is not UTF-8`)
  if (text.trim() === '') return undefined
  requireBearable(text, `line ${number}`)
  try {
    return readJson(text)
  } catch (cause) {
    if (cause instanceof SyntaxError) throw malformed(`line ${number} is not JSON: ${cause.message}`.slice(0, 300))
    throw cause
  }
}

const malformed = (detail: string): RequestError =>
  new RequestError(400, 'malformed_body', `nothing was imported: ${detail}`)

const tooLong = (detail: string): RequestError =>
  new RequestError(413, 'content_too_large', `nothing was imported: ${detail}`)
