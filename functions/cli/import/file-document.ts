import { readFile, stat } from 'node:fs/promises'
import type { Fault, FileLine } from '../../log/session-files/transcript.ts'
import { readLines, valueOf } from './file-lines.ts'

/** Limit of a document, in bytes. The whole document is in memory, more than once. */
const MAX_DOCUMENT_BYTES = 256 * 1024 * 1024

interface Read {
  readonly lines: readonly FileLine[]
  readonly faults: readonly Fault[]
}

/**
 * Reads the messages of a file. The file is one JSON document, or has one message per line. Entries of a document are
 * named by their position in it.
 */
export async function readDocument(path: string): Promise<Read> {
  const read = await readLines(path)
  const [first] = read.lines
  if (read.lines.length === 1 && Array.isArray(first?.value)) return { ...read, lines: entriesOf(first.value) }
  // If the file is one document over several lines, some lines may be valid JSON, but the first line is not.
  const [fault] = read.faults
  const isInLines = fault === undefined || (first !== undefined && first.line < fault.line)
  if (isInLines || !path.endsWith('.json') || (await stat(path)).size > MAX_DOCUMENT_BYTES) return read
  const whole = valueOf(await readFile(path))
  if ('value' in whole) return { lines: entriesOf(whole.value), faults: [] }
  return read.lines.length > 0 ? read : { lines: [], faults: [{ line: 1, reason: whole.fault }] }
}

const entriesOf = (value: unknown): FileLine[] =>
  Array.isArray(value)
    ? value.map((one: unknown, place) => ({ line: 1, at: `[${place}]`, value: one }))
    : [{ line: 1, value }]
