import { readAsciiRun } from './ascii-names.ts'
import { readRun } from './tokens.ts'

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

/** Letters of a run whose pieces may keep all of it in memory. */
const SMALL = 80

/** Characters from which on a piece of a string keeps all of it in memory. */
export const SLICED = 13

const NONE: readonly string[] = []
const NOTHING: readonly Word[] = []

/** Words that are remembered. With their strings they take some 30 MB of memory. */
const WORDS = 200_000

/** Makes runs, which share their words. */
export function createMaker() {
  const known = new Map<string, Word>()
  const word = (text: string): Word => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size >= WORDS) known.clear()
    const made = { text, sessionAge: 0, sessions: 0, audienceAge: 0, audiences: 0 }
    known.set(text, made)
    return made
  }
  /** Pieces of a text keep all of it in memory. */
  const ownWord = (text: string): Word =>
    known.get(text) ?? word(text.length < SLICED ? text : Buffer.from(text).toString())
  const knowable = (words: readonly string[], wordOf: (text: string) => Word): readonly Word[] => {
    const found: Word[] = []
    for (const one of words) if (one.length >= SHORTEST && one.length <= LONGEST) found.push(wordOf(one))
    return found.length === 0 ? NOTHING : found
  }
  const make = (text: string, words: readonly string[], extra: readonly string[], knows: readonly Word[]): Run => {
    const joined = words.length === 1 ? (words[0] ?? '') : words.join(' ')
    return {
      text,
      words: joined === text ? text : joined,
      extra: extra.length === 0 ? NONE : extra,
      knowable: knows,
      sessionAge: 0,
      sessions: 0,
      audienceAge: 0,
      audiences: 0,
    }
  }
  return {
    word: ownWord,
    /** What a run says. */
    run(text: string): Run {
      const extra = new Set<string>()
      const words = readRun(text, extra)
      const simple = [...words, ...extra].filter((name) => WORD.test(name))
      return make(text, words, [...extra], knowable(simple, ownWord))
    },
    /** The same for one of ASCII, a string of its own. */
    asciiRun(text: string): Run {
      const { words, extra, simple } = readAsciiRun(text)
      return make(text, words, extra, knowable(simple, text.length <= SMALL ? word : ownWord))
    },
    /** The same for one that is one word. */
    plainRun: (text: string): Run => make(text, [text], NONE, knowable([text], word)),
  }
}
