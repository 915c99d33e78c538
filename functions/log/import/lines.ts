/** Maximum length of a line. Messages of agents are never that long, because longer content belongs in an output. */
const MAX_LINE_BYTES = 32 * 1024 * 1024

export interface Line {
  /** Number of the line, from 1. */
  readonly number: number
  /** Undefined if the line is longer than `MAX_LINE_BYTES`. */
  readonly bytes: Buffer | undefined
  /** Whether a line break ends the line. */
  readonly ended: boolean
}

/** Yields the non-empty lines of these bytes. Memory holds at most one line, in two copies. */
export async function* linesOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Line> {
  let held: Buffer[] = []
  let length = 0
  let number = 1
  const line = (last: Buffer, ended: boolean): Line => {
    const isLong = length + last.length > MAX_LINE_BYTES
    const bytes = isLong ? undefined : Buffer.concat([...held, last])
    held = []
    length = 0
    return { number: number++, bytes, ended }
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      // Empty lines are not yielded, because yielding millions of them would take minutes.
      if (end === from && length === 0) number++
      else yield line(chunk.subarray(from, end), true)
      from = end + 1
    }
    const rest = chunk.subarray(from)
    length += rest.length
    if (length > MAX_LINE_BYTES) held = []
    else if (rest.length > 0) held.push(rest)
  }
  if (length > 0) yield line(Buffer.alloc(0), false)
}

/** Decodes UTF-8 and removes the byte order mark; undefined if the bytes are not UTF-8. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
