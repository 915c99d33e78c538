import { createReadStream } from 'node:fs'
import { linesOf, utf8Of } from '../../log/import/lines.ts'
import type { Fault, FileLine } from '../../log/session-files/transcript.ts'

/** Bytes that are read at a time. */
const PIECE = 1024 * 1024

/** A file's lines that are JSON, and what was wrong with the others. Never more than one long line is in memory twice. */
export async function readLines(path: string): Promise<{ readonly lines: FileLine[]; readonly faults: Fault[] }> {
  const lines: FileLine[] = []
  const faults: Fault[] = []
  const chunks = createReadStream(path, { highWaterMark: PIECE }) as AsyncIterable<Buffer>
  for await (const { number, bytes, ended } of linesOf(chunks)) {
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

/** The JSON value of these bytes, or what is wrong with them; an empty text for none. A byte order mark before it is left out. */
export function valueOf(bytes: Buffer): { readonly value: unknown } | { readonly fault: string } {
  const text = utf8Of(bytes)
  if (text === undefined) return { fault: 'is not UTF-8' }
  if (text.trim() === '') return { fault: '' }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    // Deep nesting ends in a RangeError.
    if (error instanceof SyntaxError || error instanceof RangeError) return { fault: 'is not JSON' }
    throw error
  }
}
