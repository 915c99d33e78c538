import { similarWords, inflections } from './word-forms.ts'
import type { SearchQuery, SearchTerm } from './query.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Period } from '../dates/period.ts'
import type { DateSpellings } from '../dates/date-mention.ts'
import { stemOf } from './stem.ts'
import { FUNCTION_WORDS } from './words.ts'

/** The words of an index. Frequencies count documents and may be approximate. */
export interface Vocabulary {
  readonly documents: number
  frequency(token: string): number
  /** Returns words with this prefix, shortest first. */
  startingWith(prefix: string, limit: number): readonly string[]
  /** Like `startingWith`, for English words. May return fewer words, and returns them in any order. */
  beginningWith(prefix: string, limit: number): readonly string[]
  /** Returns all words that are one typo away, and possibly more words. */
  resembling(word: string): readonly string[]
  /** Returns words that contain this part, shortest first. */
  containing(part: string, limit: number): readonly string[]
}

/** A text that is searched instead of a term, and the weight of its matches. */
export interface SoughtText {
  readonly text: string
  readonly weight: number
}

/** A word and its alternatives. */
export interface PlannedWord {
  readonly word: string
  /** Tokens in an index that count as the word. */
  readonly tokens: readonly string[]
  /** Texts that are searched in a document, best first. */
  readonly soughtTexts: readonly SoughtText[]
  readonly frequency: number
}

/** A term and its alternatives. */
export interface PlannedTerm {
  readonly term: SearchTerm
  /**
   * Alternative ways to find the term. Each alternative is a list of groups of tokens. A document matches it if it
   * contains at least one token of every group.
   */
  readonly alternatives: readonly (readonly (readonly string[])[])[]
  /** Approximate number of documents with the term. */
  readonly frequency: number
  /** Weight in the score: rare terms have a higher weight. Includes the term's own weight. */
  readonly importance: number
  /** Texts that are searched in a document, best first. */
  readonly soughtTexts: readonly SoughtText[]
  /** The words of a term with several words. */
  readonly parts: readonly PlannedWord[]
  /** For a date: entries of this time match the term, whatever their text is. */
  readonly period?: Period
}

/** A word with at most this many documents may be a typo, or a part of another word. */
const RARE = 3
/** Replaces `RARE` in the second attempt of a search, which is made if the exact words find too little. */
const WIDENED = 2_000
/** Maximum number of expanded words in a query, because each takes several lookups. */
const MAX_WIDENED = 8
/** Maximum number of documents that all expansions of one word may have together. */
const EXTENDED = 5_000
/**
 * Maximum number of expansions of an unknown word, and of words one typo away. Without a limit, a user could create
 * hundreds of expansions by storing similar words.
 */
const MAX_EXTENSIONS = 40
const COMPOUND_IMPORTANCE = 1.2
/** For words that share a stem: weight of a match, minimum length of a word, and minimum length of the stem. */
const SAME_STEM = 0.7
const MIN_STEMMED = 5
const MIN_STEM = 4
/** Maximum number of words of a compound that are looked up. The other words are found through the compound's text. */
const MAX_PARTS = 8

/**
 * Plans the lookup of each term: the word itself, its inflections and, if it is rare, words one typo away and words
 * that contain it. With `widen`, common words are expanded too, because a word that is common in the index may be
 * missing in the scope.
 */
export function planTerms(query: SearchQuery, vocabulary: Vocabulary, widen: boolean): PlannedTerm[] {
  let left = MAX_WIDENED
  const isWidened = (frequency: number): boolean => (frequency <= RARE || (widen && frequency <= WIDENED)) && left-- > 0
  return query.terms.map((term) =>
    term.date === undefined ? planTerm(term, vocabulary, isWidened) : planDate(query, term, term.date, vocabulary),
  )
}

/** Plans the lookup of a date in texts. All spellings of the date are known, so no word is expanded. */
function planDate(
  { period }: SearchQuery,
  term: SearchTerm,
  { texts, groups }: DateSpellings,
  vocabulary: Vocabulary,
): PlannedTerm {
  const count = (tokens: readonly string[]): number =>
    tokens.reduce((sum, token) => sum + vocabulary.frequency(token), 0)
  const frequency = Math.max(0, ...groups.map((group) => Math.min(...group.map(count)) / group.length))
  const importance = term.weight * inverseFrequency(frequency, vocabulary.documents)
  return {
    term,
    alternatives: groups,
    frequency,
    importance,
    soughtTexts: texts,
    parts: [],
    ...definedFields({ period }),
  }
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
  for (const form of sameStem(word, vocabulary)) add(form, SAME_STEM)
  if (isWidened(own)) {
    for (const other of typos(word, vocabulary)) add(other, /\p{N}/u.test(word) ? 0.5 : 0.8)
    // Words that contain `word` have weight 0, because the search for the text of `word` finds them anyway.
    if (word.length >= 3 || own === 0) for (const other of holders(word, vocabulary)) add(other, 0)
  }
  return { word, tokens: [...tokens], soughtTexts, frequency }
}

/** Returns English words with the word's stem: for `organizer`, also `organization`. */
function sameStem(word: string, vocabulary: Vocabulary): string[] {
  const prefix = stemPrefix(word)
  if (prefix === undefined) return []
  const stem = stemOf(word)
  return vocabulary.beginningWith(prefix, MAX_EXTENSIONS).filter((other) => other !== word && stemOf(other) === stem)
}

/** Returns the beginning that all words with this word's stem share; undefined if the stem is too short. */
export function stemPrefix(word: string): string | undefined {
  if (word.length < MIN_STEMMED || !/^[a-z]+$/u.test(word)) return undefined
  const stem = stemOf(word)
  // The last letter of the stem may differ from the word: the stem of `happy` is `happi`.
  return stem.length < MIN_STEM ? undefined : stem.slice(0, Math.max(MIN_STEM, stem.length - 1))
}

/**
 * Returns the words that are one typo away. A typo leaves the first or the last half of a word unchanged, or swaps the
 * two letters at the middle.
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

/** Returns the content words of a compound. If it has none, returns all of its words. */
export function meaningful<Word extends { readonly word: string }>(words: readonly Word[]): readonly Word[] {
  const kept = words.filter(({ word }) => !FUNCTION_WORDS.has(word))
  return kept.length === 0 ? words : kept
}
