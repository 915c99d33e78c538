import { readAsciiRun } from './ascii-names.ts'
import { JOINERS, readRun } from './tokens.ts'

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

/** Letters of the words that are known: shorter ones are no pieces worth finding, longer ones are data. */
const SHORTEST = 3
const LONGEST = 64
const WORD = /^[\p{L}\p{N}\p{M}]+$/u

const isKnowable = (word: string): boolean => word.length >= SHORTEST && word.length <= LONGEST && WORD.test(word)
const isKnowableAscii = (word: string): boolean =>
  word.length >= SHORTEST && word.length <= LONGEST && !JOINERS.test(word)

/** Characters from which on a piece of a string keeps all of it in memory. */
export const SLICED = 13

const NONE: readonly string[] = []
const NOTHING: readonly Word[] = []

/** Words that are remembered. With their strings they take some 20 MB of memory. */
const WORDS = 200_000

/** Makes runs, which share their words. */
export function createMaker() {
  const known = new Map<string, Word>()
  const word = (text: string): Word => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size >= WORDS) known.clear()
    // Pieces of a text keep all of it in memory.
    const made = {
      text: text.length < SLICED ? text : Buffer.from(text).toString(),
      sessionAge: 0,
      sessions: 0,
      audienceAge: 0,
      audiences: 0,
    }
    known.set(made.text, made)
    return made
  }
  const make = (text: string, words: readonly string[], extra: readonly string[], knowable: string[]): Run => {
    const joined = words.join(' ')
    const found = knowable.length === 0 ? NOTHING : knowable.map(word)
    return {
      text,
      words: joined === text ? text : joined,
      extra,
      knowable: found,
      sessionAge: 0,
      sessions: 0,
      audienceAge: 0,
      audiences: 0,
    }
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
