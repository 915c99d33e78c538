import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { lower } from '../tokens/fold-text.ts'

/** A line of an output, or a part of a very long line. */
export interface Row {
  /** Start of the row and start of the next row, in UTF-16 units of the output. */
  readonly start: number
  readonly end: number
  readonly text: string
}

export type Pieces = AsyncIterable<string> | Iterable<string>

/** Maximum characters (UTF-16 units) of a row: an output may be one line of a megabyte. */
const MAX_ROW = 1_000
/** Characters that are processed before yielding to the event loop. For any content, this takes some milliseconds. */
const AT_ONCE = 32_768

/**
 * Calls `take` for each row of an output, in order. `matched`: whether an occurrence of `pattern` begins in the row,
 * ignoring case. The time is linear in the length of the output. Only one piece is in memory. `resume` is called
 * periodically; it stops the reading by throwing.
 */
export async function eachRow(
  pieces: Pieces,
  pattern: string | undefined,
  resume: () => void,
  take: (text: string, matched: boolean) => void,
): Promise<void> {
  const cutter = createCutter()
  const finder = pattern === undefined ? undefined : createFinder(pattern)
  let waiting: Row[] = []
  /** Passes on the rows before `settled`. All matches up to this position are known. */
  const handOn = (settled: number): void => {
    let count = 0
    for (const row of waiting) {
      if (row.end > settled) break
      take(row.text, finder?.beginsBefore(row.end) ?? false)
      count++
    }
    waiting = waiting.slice(count)
  }
  for await (const piece of pieces)
    for (const part of partsOf(piece)) {
      resume()
      waiting.push(...cutter.take(part))
      handOn(finder?.take(part) ?? Infinity)
      await yieldToEventLoop()
    }
  waiting.push(...cutter.end())
  handOn(Infinity)
}

/** Splits a piece into parts that end between two characters. */
function* partsOf(piece: string): Generator<string> {
  for (let place = 0; place < piece.length;) {
    const end = wholeBefore(piece, Math.min(piece.length, place + AT_ONCE))
    yield piece.slice(place, end)
    place = end
  }
}

/** Returns `end`, or one less if `end` would split a surrogate pair. */
function wholeBefore(text: string, end: number): number {
  const code = text.charCodeAt(end - 1)
  return end < text.length && code >= 0xd800 && code <= 0xdbff ? end - 1 : end
}

/**
 * Splits a text into rows: lines, and parts of long lines. An empty text is one row. A newline at the end of the text
 * starts no further row.
 */
function createCutter() {
  let rest = ''
  let start = 0
  let count = 0
  /** Whether no character of the current line is in a row yet. */
  let fresh = true
  const rowOf = (text: string, length: number): Row => {
    const row = { start, end: start + length, text: text.replace(/\r$/u, '') }
    start += length
    count++
    return row
  }
  return {
    take(piece: string): Row[] {
      const text = rest + piece
      const rows: Row[] = []
      let place = 0
      let newline = text.indexOf('\n')
      while (place < text.length) {
        if (newline >= 0 && newline - place <= MAX_ROW) {
          if (fresh || newline > place) rows.push(rowOf(text.slice(place, newline), newline + 1 - place))
          else start++
          place = newline + 1
          newline = text.indexOf('\n', place)
          fresh = true
        } else if (text.length - place > MAX_ROW) {
          const end = wholeBefore(text, place + MAX_ROW)
          rows.push(rowOf(text.slice(place, end), end - place))
          place = end
          fresh = false
        } else break
      }
      rest = text.slice(place)
      return rows
    },
    end(): Row[] {
      if (rest.replace(/\r$/u, '') === '' && count > 0) return []
      return [rowOf(rest, rest.length)]
    },
  }
}

/** Finds a text in pieces that arrive one after another. */
function createFinder(pattern: string) {
  const wanted = lower(pattern)
  let found: number[] = []
  let passed = 0
  let tail = ''
  let tailStart = 0
  let next = 0
  return {
    /** Searches one more piece. Returns the position before which all matches are known. */
    take(piece: string): number {
      const text = tail + lower(piece)
      found = found.slice(passed)
      passed = 0
      for (let place = text.indexOf(wanted, Math.max(0, next - tailStart)); place >= 0;) {
        found.push(tailStart + place)
        next = tailStart + place + wanted.length
        place = text.indexOf(wanted, place + wanted.length)
      }
      const kept = Math.min(text.length, wanted.length - 1)
      tail = text.slice(text.length - kept)
      tailStart += text.length - kept
      return tailStart
    },
    /**
     * Whether an unreported match begins before this position. Marks all matches before the position as reported.
     * Positions must ascend.
     */
    beginsBefore(end: number): boolean {
      const before = passed
      while ((found[passed] ?? Infinity) < end) passed++
      return passed > before
    },
  }
}
