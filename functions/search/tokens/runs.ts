import { readAsciiRun } from './ascii-names.ts'
import { readRun } from './tokens.ts'
import { createWordTable, type Marks, type Word } from './word-table.ts'

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
const MIN_WORD_CHARACTERS = 3
const MAX_WORD_CHARACTERS = 64
const WORD = /^[\p{L}\p{N}\p{M}]+$/u

/** Letters of a run whose pieces may keep all of it in memory. */
const SMALL = 80

const NONE: readonly string[] = []
const NOTHING: readonly Word[] = []

const isKnowable = ({ length }: string): boolean => length >= MIN_WORD_CHARACTERS && length <= MAX_WORD_CHARACTERS

/** Makes runs, which share their words. */
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
    /** What a run says. */
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
    /** The same for one of ASCII, a string of its own. */
    asciiRun(text: string): Run {
      const { words, extra, simple } = readAsciiRun(text)
      const isSmall = text.length <= SMALL
      const knowable: Word[] = []
      for (const name of simple) if (isKnowable(name)) knowable.push(table.word(name, isSmall))
      return make(text, words, extra, knowable)
    },
    /** The same for one that is one word. */
    plainRun: (text: string): Run => make(text, [text], NONE, isKnowable(text) ? [table.word(text, true)] : NOTHING),
  }
}
