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
 * Where a run stands, whether it is one word as it stands, and whether the document had it before. One value serves for all:
 * there are millions of places.
 */
export interface Place {
  start: number
  end: number
  hash: number
  plain: boolean
  repeated: boolean
}

/** Runs that are remembered: a power of two. With their strings they take some 10 MB of memory. */
const PLACES = 65_536
/** Places at which a run may stand: looking for one takes no longer, whatever a text holds. */
const NEAR = 4
/** Longer ones hardly come again. */
const MAX_REMEMBERED_CHARACTERS = 80
/** A place is half a line of the processor's cache: hash, length, the document that had it last, and its first bytes. */
const CELL = 8
const BYTES_BEFORE = 12
const BYTES_IN_CELL = 20

/** Whether a run is one word as it stands. */
export const isPlain = (kinds: number, length: number): boolean =>
  (kinds === LOWER || kinds === DIGIT) && length <= MAX_WORD

/** Runs by their places, and what tells at a glance whether one is the one that is looked for. */
interface Table {
  readonly runs: (Run | undefined)[]
  readonly cells: Int32Array
  readonly bytes: Uint8Array
}

function createTable(): Table {
  const cells = new Int32Array(PLACES * CELL)
  return { runs: Array.from({ length: PLACES }), cells, bytes: new Uint8Array(cells.buffer) }
}

/** Whether the run at a place has these bytes. */
function stands({ runs, bytes }: Table, place: number, from: Buffer, { start, end }: Place): boolean {
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
 * Remembers the runs of ASCII that came up lately. They are found by the bytes that they are made of, without a string for
 * each: most runs of a text have come up before.
 */
export function createKnownRuns() {
  const maker = createMaker()
  const table = createTable()
  const { runs, cells } = table
  let document = 0
  return {
    word: maker.word,
    /** What a run of any letters says, which is not remembered. */
    read: maker.run,
    /** Another document begins. */
    begin(): void {
      document = (document + 1) | 0
    },
    /** The run that stands there in a text and its bytes; says whether the document had it before. */
    find({ text: source, bytes: from }: Source, at: Place): Run {
      const { start, end, hash, plain } = at
      const length = end - start
      let [place, oldest] = [0, Infinity]
      for (let near = 0; near < NEAR; near++) {
        const candidate = (hash + near) & (PLACES - 1)
        const cell = candidate * CELL
        const run = runs[candidate]
        if (run === undefined) {
          place = candidate
          break
        }
        if (cells[cell] !== hash || cells[cell + 1] !== length || !stands(table, candidate, from, at)) {
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
