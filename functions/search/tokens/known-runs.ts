import { DIGIT, LOWER } from './ascii-runs.ts'
import { createMaker, type Run } from './runs.ts'
import { MAX_WORD } from './tokens.ts'
import { SLICED } from './word-table.ts'

/** A text and its bytes. */
export interface Source {
  readonly text: string
  readonly bytes: Buffer
}

/**
 * A run in a text: its position, whether it is a plain word, and whether it occurred earlier in the
 * document. One object is reused for millions of positions.
 */
export interface Place {
  start: number
  end: number
  hash: number
  plain: boolean
  repeated: boolean
}

/** Number of slots for remembered runs, a power of two. With their strings, they take about 10 MB of memory. */
const SLOTS = 65_536
/** Maximum number of slots that are probed for a run. The limit bounds the time of a lookup for any text. */
const MAX_PROBES = 4
/** Longer runs are not remembered, because they seldom repeat. */
const MAX_REMEMBERED_CHARACTERS = 80
/** Integers per slot, half a cache line: hash, length, last document, and the first bytes. */
const CELL = 8
const BYTES_BEFORE = 12
const BYTES_IN_CELL = 20

/** Whether a run is a single word without alternative tokens. */
export const isPlain = (kinds: number, length: number): boolean =>
  (kinds === LOWER || kinds === DIGIT) && length <= MAX_WORD

/** Runs by slot. The data that identify a run are within one cache line. */
interface Table {
  readonly runs: (Run | undefined)[]
  readonly cells: Int32Array
  readonly bytes: Uint8Array
}

function createTable(): Table {
  const cells = new Int32Array(SLOTS * CELL)
  return { runs: Array.from({ length: SLOTS }), cells, bytes: new Uint8Array(cells.buffer) }
}

/** Whether the run in a slot has these bytes. */
function hasBytesAt({ runs, bytes }: Table, place: number, from: Buffer, { start, end }: Place): boolean {
  const first = place * CELL * 4 + BYTES_BEFORE
  const length = end - start
  if (length <= BYTES_IN_CELL) {
    for (let at = 0; at < length; at++) if (bytes[first + at] !== from[start + at]) return false
    return true
  }
  const text = runs[place]?.text ?? ''
  for (let at = 0; at < length; at++) if (text.charCodeAt(at) !== from[start + at]) return false
  return true
}

function remember({ runs, cells, bytes }: Table, place: number, run: Run, hash: number): void {
  const cell = place * CELL
  runs[place] = run
  cells[cell] = hash
  cells[cell + 1] = run.text.length
  const first = cell * 4 + BYTES_BEFORE
  for (let at = 0; at < Math.min(BYTES_IN_CELL, run.text.length); at++) bytes[first + at] = run.text.charCodeAt(at)
}

export type KnownRuns = ReturnType<typeof createKnownRuns>

/**
 * Creates a cache of recent ASCII runs. It finds a run by its bytes, without creating a string, because most runs of a
 * text are repetitions.
 */
export function createKnownRuns() {
  const maker = createMaker()
  const table = createTable()
  const { runs, cells } = table
  let document = 0
  return {
    word: maker.word,
    /** Reads a run of any characters, without remembering it. */
    read: maker.run,
    /** Starts the next document. */
    begin(): void {
      document = (document + 1) | 0
    },
    /** Returns the run at a position of the text. Sets `repeated` if the run occurred earlier in the document. */
    find({ text: source, bytes: from }: Source, at: Place): Run {
      const { start, end, hash, plain } = at
      const length = end - start
      let [place, oldest] = [0, Infinity]
      for (let near = 0; near < MAX_PROBES; near++) {
        const candidate = (hash + near) & (SLOTS - 1)
        const cell = candidate * CELL
        const run = runs[candidate]
        if (run === undefined) {
          place = candidate
          break
        }
        if (cells[cell] !== hash || cells[cell + 1] !== length || !hasBytesAt(table, candidate, from, at)) {
          const last = cells[cell + 2] ?? 0
          if (last < oldest) [place, oldest] = [candidate, last]
          continue
        }
        at.repeated = cells[cell + 2] === document
        cells[cell + 2] = document
        return run
      }
      const text = length < SLICED ? source.slice(start, end) : from.toString('latin1', start, end)
      const run = plain ? maker.plainRun(text) : maker.asciiRun(text)
      at.repeated = false
      if (length > MAX_REMEMBERED_CHARACTERS) return run
      remember(table, place, run, hash)
      cells[place * CELL + 2] = document
      return run
    },
  }
}
