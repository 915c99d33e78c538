import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import type { ByteRange } from '../../ports/output-store.ts'

/**
 * Header of an object. An object is one file: a line of JSON, followed by the unchanged bytes (`tail -n +2` shows
 * them). A single file makes the media type and the bytes appear together.
 */
export interface ObjectHeader {
  readonly mediaType: string
  readonly bytes: number
  /** Hash of the bytes, in hexadecimal. */
  readonly sha256: string
}

const headerSchema = z.object({ mediaType: z.string(), bytes: z.int().nonnegative(), sha256: z.string() })
/** Maximum length of the header. A media type may have 255 characters on each side of its slash. */
const HEADER_LIMIT = 4096

interface OpenObject {
  readonly file: FileHandle
  readonly header: ObjectHeader
  /** Offset of the object's bytes in the file. */
  readonly offset: number
}

/** Encodes the header that precedes the object's bytes. */
export function encodeHeader(header: ObjectHeader): Uint8Array {
  const line = Buffer.from(`${JSON.stringify(header)}\n`)
  if (line.byteLength > HEADER_LIMIT)
    throw new RangeError(
      `the media type is too long: the header has ${line.byteLength} bytes; the limit is ${HEADER_LIMIT}`,
    )
  return line
}

/** Reads an object's header; undefined if there is no such file. */
export function readHeader(path: string): Promise<ObjectHeader | undefined> {
  return withObject(path, async ({ header }) => header)
}

/** Reads an object's bytes, or only those of `range`; undefined if there is no such file. */
export function readBytes(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
  return withObject(path, async ({ file, header, offset }) => {
    const start = range?.start ?? 0
    const end = Math.min(range?.end ?? Infinity, header.bytes - 1)
    const bytes = Buffer.alloc(Math.max(0, end - start + 1))
    for (let done = 0; done < bytes.byteLength;) {
      const { bytesRead } = await file.read(bytes, done, bytes.byteLength - done, offset + start + done)
      if (bytesRead === 0) throw new Error(`the file is cut off: it should hold ${header.bytes} bytes`)
      done += bytesRead
    }
    return bytes
  })
}

async function withObject<Result>(
  path: string,
  use: (object: OpenObject) => Promise<Result>,
): Promise<Result | undefined> {
  const file = await openIfThere(path)
  if (file === undefined) return undefined
  try {
    const start = Buffer.alloc(HEADER_LIMIT)
    const { bytesRead } = await file.read(start, 0, HEADER_LIMIT, 0)
    const end = start.subarray(0, bytesRead).indexOf('\n')
    if (end < 0) throw new Error('the file has no header line')
    const header = headerSchema.parse(JSON.parse(start.toString('utf8', 0, end)))
    return await use({ file, header, offset: end + 1 })
  } finally {
    await file.close()
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Whether an error of the file system has one of these codes. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
