import { readAsciiRun } from './ascii-names.ts'
import { readRun } from './tokens.ts'
import { createWordTable, type Marks, type Word } from './word-table.ts'

/** A run of letters and digits, with its tokens. */
export interface Run extends Marks {
  readonly text: string
  /** Its words, joined by spaces. */
  readonly words: string
  /** Alternative tokens for its position. */
  readonly extra: readonly string[]
  /** The words and alternative tokens of this run that vocabularies contain. */
  readonly knowable: readonly Word[]
}

/**
 * Minimum and maximum characters of a word in a vocabulary. Shorter words are useless as parts of words. Longer ones
 * are usually data.
 */
const MIN_WORD_CHARACTERS = 3
const MAX_WORD_CHARACTERS = 64
const WORD = /^[\p{L}\p{N}\p{M}]+$/u

/**
 * Maximum characters of a run whose substrings are stored without a copy. Such a substring keeps the whole run in
 * memory.
 */
const SMALL = 80

const NONE: readonly string[] = []
const NOTHING: readonly Word[] = []

const isKnowable = ({ length }: string): boolean => length >= MIN_WORD_CHARACTERS && length <= MAX_WORD_CHARACTERS

/** Creates the factory of runs. Runs share their word objects. */
export function createMaker() {
  const table = createWordTable()
  const make = (text: string, words: readonly string[], extra: readonly string[], knowable: readonly Word[]): Run => {
    const joined = words.length === 1 ? (words[0] ?? '') : words.join(' ')
    return {
      text,
      words: joined === text ? text : joined,
      extra: extra.length === 0 ? NONE : extra,
      knowable: knowable.length === 0 ? NOTHING : knowable,
      sessionAge: 0,
      sessions: 0,
      audienceAge: 0,
      audiences: 0,
    }
  }
  return {
    word: (text: string): Word => table.word(text, false),
    /** Reads the tokens of any run. */
    run(text: string): Run {
      const extra = new Set<string>()
      const words = readRun(text, extra)
      const simple = [...words, ...extra].filter((name) => isKnowable(name) && WORD.test(name))
      return make(
        text,
        words,
        [...extra],
        simple.map((name) => table.word(name, false)),
      )
    },
    /** Reads the tokens of an ASCII run. The text must be a separate string, not a substring of a longer one. */
    asciiRun(text: string): Run {
      const { words, extra, simple } = readAsciiRun(text)
      const isSmall = text.length <= SMALL
      const knowable: Word[] = []
      for (const name of simple) if (isKnowable(name)) knowable.push(table.word(name, isSmall))
      return make(text, words, extra, knowable)
    },
    /** Reads a run that is a single word. */
    plainRun: (text: string): Run => make(text, [text], NONE, isKnowable(text) ? [table.word(text, true)] : NOTHING),
  }
}
