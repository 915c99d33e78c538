import { similarWords, inflections } from './word-forms.ts'
import type { SearchQuery, SearchTerm } from './query.ts'
import { FUNCTION_WORDS } from './words.ts'

/** The words that an index knows. Frequencies are numbers of documents and may be approximate. */
export interface Vocabulary {
  readonly documents: number
  frequency(token: string): number
  /** Words that begin with this, shortest first. */
  startingWith(prefix: string, limit: number): readonly string[]
  /** A superset of the words that are one typing error away. */
  resembling(word: string): readonly string[]
  /** Words that contain this, shortest first. */
  containing(part: string, limit: number): readonly string[]
}

/** A text that stands for a term, and how well it does. */
export interface SoughtText {
  readonly text: string
  readonly weight: number
}

/** A word and everything that may stand for it. */
export interface PlannedWord {
  readonly word: string
  /** In an index, any of these counts as the word. */
  readonly tokens: readonly string[]
  /** What to look for in a text, best first. */
  readonly soughtTexts: readonly SoughtText[]
  readonly frequency: number
}

/** A term and everything that may stand for it. */
export interface PlannedTerm {
  readonly term: SearchTerm
  /** Ways to find it: each is a list of groups. Of every group, one token must be present. */
  readonly alternatives: readonly (readonly (readonly string[])[])[]
  /** The approximate number of documents that have it. */
  readonly frequency: number
  /** How much it says: rare terms say more. Includes the term's own weight. */
  readonly importance: number
  /** What to look for in the text, best first. */
  readonly soughtTexts: readonly SoughtText[]
  /** Its words, if it has several. */
  readonly parts: readonly PlannedWord[]
}

/** A word in fewer documents than this may be a typing error, or a piece of another word. */
const RARE = 3
/** If nothing else is found, the same holds for a word in fewer documents than this. */
const WIDENED = 2_000
/** How many words of a query are treated so: each takes some lookups. */
const MAX_WIDENED = 8
/** How many documents a word's expansions may have together. */
const EXTENDED = 5_000
/** Expansions of an unknown word, and words one typing error away: whoever stores words can make hundreds of them. */
const MAX_EXTENSIONS = 40
const COMPOUND_IMPORTANCE = 1.2
/** How many words of a compound are looked up; its text covers the rest. */
const MAX_PARTS = 8

/**
 * Plans how to look for each term: the word itself, its inflections and, if it is rare, words one typing error away and
 * words that contain it. `widen` does the latter for every word: a common word may be unknown within a scope.
 */
export function planTerms(query: SearchQuery, vocabulary: Vocabulary, widen: boolean): PlannedTerm[] {
  let left = MAX_WIDENED
  const isWidened = (frequency: number): boolean => (frequency <= RARE || (widen && frequency <= WIDENED)) && left-- > 0
  return query.terms.map((term) => planTerm(term, vocabulary, isWidened))
}

function planTerm(term: SearchTerm, vocabulary: Vocabulary, isWidened: (frequency: number) => boolean): PlannedTerm {
  const words = term.words.slice(0, MAX_PARTS).map((word) => expandWord(word, vocabulary, isWidened))
  const wholes = term.wholes.map((whole) => [[whole]])
  const single = words.length === 1 ? words[0] : undefined
  const frequency =
    single?.frequency ??
    Math.max(
      Math.min(...words.map((word) => word.frequency)) / 2,
      ...term.wholes.map((whole) => vocabulary.frequency(whole)),
    )
  const scale = term.weight * (single === undefined ? COMPOUND_IMPORTANCE : 1)
  return {
    term,
    alternatives: [...wholes, words.map((word) => word.tokens)],
    frequency,
    importance: scale * inverseFrequency(frequency, vocabulary.documents),
    soughtTexts: single?.soughtTexts ?? [
      { text: term.text, weight: 1 },
      ...term.wholes.filter((whole) => whole !== term.text).map((text) => ({ text, weight: 0.95 })),
    ],
    parts: single === undefined ? words : [],
  }
}

function expandWord(word: string, vocabulary: Vocabulary, isWidened: (frequency: number) => boolean): PlannedWord {
  const own = vocabulary.frequency(word)
  const soughtTexts: SoughtText[] = [{ text: word, weight: 1 }]
  const tokens = new Set([word])
  let frequency = own
  const add = (text: string, weight: number): void => {
    const known = tokens.has(text) ? 0 : vocabulary.frequency(text)
    if (known === 0 || (weight === 0 && frequency + known > EXTENDED)) return
    tokens.add(text)
    frequency += known
    if (weight > 0) soughtTexts.push({ text, weight })
  }
  for (const form of inflections(word)) add(form, 0.8)
  if (isWidened(own)) {
    for (const other of typos(word, vocabulary)) add(other, /\p{N}/u.test(word) ? 0.5 : 0.8)
    // Their text contains the word itself, so they need no needles.
    if (word.length >= 3 || own === 0) for (const other of holders(word, vocabulary)) add(other, 0)
  }
  return { word, tokens: [...tokens], soughtTexts, frequency }
}

/**
 * Words one typing error away: an error leaves the first or the last half of a word unchanged, or swaps the letters
 * between.
 */
function typos(word: string, vocabulary: Vocabulary): string[] {
  if (word.length < 4 || word.length > 24 || !/^[\p{L}\p{N}]+$/u.test(word)) return []
  return similarWords(word, vocabulary.resembling(word)).toSorted().slice(0, MAX_EXTENSIONS)
}

function holders(word: string, vocabulary: Vocabulary): readonly string[] {
  if (word.length < 3) return vocabulary.startingWith(word, MAX_EXTENSIONS)
  const starting = vocabulary.startingWith(word, MAX_EXTENSIONS)
  return starting.length >= MAX_EXTENSIONS ? starting : [...starting, ...vocabulary.containing(word, MAX_EXTENSIONS)]
}

function inverseFrequency(frequency: number, documents: number): number {
  const known = Math.min(frequency, documents)
  return Math.log(1 + (documents - known + 0.5) / (known + 0.5))
}

/** The words of a compound that have a meaning of their own; all of them if none has. */
export function meaningful<Word extends { readonly word: string }>(words: readonly Word[]): readonly Word[] {
  const kept = words.filter(({ word }) => !FUNCTION_WORDS.has(word))
  return kept.length === 0 ? words : kept
}
