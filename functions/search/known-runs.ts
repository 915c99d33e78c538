import { readAsciiRun } from './ascii-names.ts'
import { DIGIT, LOWER } from './ascii-runs.ts'
import { MAX_WORD, readRun } from './tokens.ts'

/**
 * Who has a word, or all words of a run, as bits that whoever keeps vocabularies has given out: to sessions, and to their
 * owners and tenants. Those of another age say nothing.
 */
export interface Marks {
  sessionAge: number
  sessions: number
  audienceAge: number
  audiences: number
}

const noMarks = (): Marks => ({ sessionAge: 0, sessions: 0, audienceAge: 0, audiences: 0 })

/** A word that a vocabulary takes, mostly one value wherever it stands. */
export interface Word extends Marks {
  readonly text: string
}

/** A run of letters and digits, with what is known of it wherever it stands. */
export interface Run extends Marks {
  readonly text: string
  /** Its words, joined by spaces. */
  readonly words: string
  /** Other names for its place. */
  readonly extra: readonly string[]
  /** Those of its words and names that a vocabulary takes. */
  readonly knowable: readonly Word[]
}

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

/** Letters of the words that are known: shorter ones are no pieces worth finding, longer ones are data. */
const SHORTEST = 3
const LONGEST = 64
const JOINER = /[-_./:@+#~]/u
const WORD = /^[\p{L}\p{N}\p{M}]+$/u

const isKnowable = (word: string): boolean => word.length >= SHORTEST && word.length <= LONGEST && WORD.test(word)
const isKnowableAscii = (word: string): boolean =>
  word.length >= SHORTEST && word.length <= LONGEST && !JOINER.test(word)

/** Runs that are remembered: a power of two. With their strings they take some 20 MB of memory. */
const PLACES = 65_536
/** Places at which a run may stand: looking for one takes no longer, whatever a text holds. */
const NEAR = 4
/** Longer ones hardly come again. */
const LONGEST_REMEMBERED = 80
/** A place is half a line of the processor's cache: hash, length, the document that had it last, and its first bytes. */
const CELL = 8
const BYTES_BEFORE = 12
const BYTES_IN_CELL = 20

/** Characters from which on a piece of a string keeps all of it in memory. */
const SLICED = 13

const NONE: readonly string[] = []
const NOTHING: readonly Word[] = []

/** Words that are remembered. With their strings they take some 20 MB of memory. */
const WORDS = 200_000

/** Makes runs that share their words. */
function createMaker() {
  const known = new Map<string, Word>()
  const word = (text: string): Word => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size >= WORDS) known.clear()
    // Pieces of a text keep all of it in memory.
    const made = { text: text.length < SLICED ? text : Buffer.from(text).toString(), ...noMarks() }
    known.set(made.text, made)
    return made
  }
  const make = (text: string, words: readonly string[], extra: readonly string[], knowable: string[]): Run => {
    const joined = words.join(' ')
    const found = knowable.length === 0 ? NOTHING : knowable.map(word)
    return { text, words: joined === text ? text : joined, extra, knowable: found, ...noMarks() }
  }
  return {
    word,
    /** What a run says. */
    run(text: string): Run {
      const extra = new Set<string>()
      const words = readRun(text, extra)
      return make(text, words, [...extra], [...words, ...extra].filter(isKnowable))
    },
    /** The same for one of ASCII. */
    asciiRun(text: string): Run {
      const extra = new Set<string>()
      const words = readAsciiRun(text, extra)
      const names = extra.size === 0 ? NONE : [...extra]
      return make(text, words, names, [...words, ...names].filter(isKnowableAscii))
    },
    /** The same for one that is one word. */
    plainRun: (text: string): Run =>
      make(text, [text], NONE, text.length >= SHORTEST && text.length <= LONGEST ? [text] : []),
  }
}

/** Whether a run is one word as it stands. */
export const isPlain = (kinds: number, length: number): boolean => (kinds === LOWER || kinds === DIGIT) && length <= MAX_WORD

export type KnownRuns = ReturnType<typeof createKnownRuns>

/**
 * Remembers the runs of ASCII that came up lately. They are found by the bytes that they are made of, without a string for
 * each: most runs of a text have come up before.
 */
export function createKnownRuns() {
  const maker = createMaker()
  const runs: (Run | undefined)[] = Array.from({ length: PLACES })
  const cells = new Int32Array(PLACES * CELL)
  const bytes = new Uint8Array(cells.buffer)
  let document = 0
  let replaced = 0

  const stands = (place: number, from: Buffer, start: number, length: number): boolean => {
    const first = place * CELL * 4 + BYTES_BEFORE
    if (length <= BYTES_IN_CELL) {
      for (let at = 0; at < length; at++) if (bytes[first + at] !== from[start + at]) return false
      return true
    }
    const text = runs[place]?.text ?? ''
    for (let at = 0; at < length; at++) if (text.charCodeAt(at) !== from[start + at]) return false
    return true
  }

  const remember = (place: number, run: Run, hash: number): void => {
    const cell = place * CELL
    runs[place] = run
    cells[cell] = hash
    cells[cell + 1] = run.text.length
    cells[cell + 2] = document
    const first = cell * 4 + BYTES_BEFORE
    for (let at = 0; at < Math.min(BYTES_IN_CELL, run.text.length); at++) bytes[first + at] = run.text.charCodeAt(at)
  }

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
      let place = (hash + (replaced % NEAR)) & (PLACES - 1)
      for (let near = 0; near < NEAR; near++) {
        const candidate = (hash + near) & (PLACES - 1)
        const cell = candidate * CELL
        if (cells[cell + 1] === 0) {
          place = candidate
          break
        }
        if (cells[cell] !== hash || cells[cell + 1] !== length || !stands(candidate, from, start, length)) continue
        const run = runs[candidate]
        if (run === undefined) break
        at.repeated = cells[cell + 2] === document
        cells[cell + 2] = document
        return run
      }
      const text = length < SLICED ? source.slice(start, end) : from.toString('latin1', start, end)
      const run = plain ? maker.plainRun(text) : maker.asciiRun(text)
      at.repeated = false
      if (length <= LONGEST_REMEMBERED) {
        replaced++
        remember(place, run, hash)
      }
      return run
    },
  }
}
