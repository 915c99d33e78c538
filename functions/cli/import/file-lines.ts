import { createReadStream } from 'node:fs'
import type { Fault, FileLine } from '../../log/session-files/transcript.ts'

/** Bytes. A longer line is reported and skipped: nothing that an agent writes at once is as long. */
const MOST_LINE = 32 * 1024 * 1024

/** A file's lines that are JSON, and what was wrong with the others. Never more than one long line is in memory twice. */
export async function readLines(path: string): Promise<{ readonly lines: FileLine[]; readonly faults: Fault[] }> {
  const lines: FileLine[] = []
  const faults: Fault[] = []
  for await (const { number, bytes, ended } of rawLines(path)) {
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
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return { fault: 'is not UTF-8' }
    throw error
  }
  if (text.trim() === '') return { fault: '' }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    // Deep nesting ends in a RangeError.
    if (error instanceof SyntaxError || error instanceof RangeError) return { fault: 'is not JSON' }
    throw error
  }
}

interface RawLine {
  readonly number: number
  /** Undefined: it is too long. */
  readonly bytes: Buffer | undefined
  /** A line end follows it. */
  readonly ended: boolean
}

async function* rawLines(path: string): AsyncGenerator<RawLine> {
  let held: Buffer[] = []
  let length = 0
  let number = 1
  const line = (last: Buffer, ended: boolean): RawLine => {
    const isLong = length + last.length > MOST_LINE
    const bytes = isLong ? undefined : Buffer.concat([...held, last])
    held = []
    length = 0
    return { number: number++, bytes, ended }
  }
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      yield line(chunk.subarray(from, end), true)
      from = end + 1
    }
    const rest = chunk.subarray(from)
    length += rest.length
    if (length > MOST_LINE) held = []
    else if (rest.length > 0) held.push(rest)
  }
  if (length > 0) yield line(Buffer.alloc(0), false)
}
