import type { AskedAt, HistoryRole } from '../../domain/history.ts'
import { dayAt } from '../dates/calendar.ts'
import type { DateMention, DateSpellings } from '../dates/date-mention.ts'
import { readDates } from '../dates/read-dates.ts'
import { periodOf, type Period } from '../dates/period.ts'
import { spellingsOf } from '../dates/spellings.ts'
import { fold, lower } from '../tokens/fold-text.ts'
import { camelParts, joined, JOINERS, MAX_WORD, RUN, symbolToken, tokenize, wordsOf } from '../tokens/tokens.ts'
import {
  FRAME_WORDS,
  FUNCTION_WORDS,
  OPENING_COMMANDS,
  QUESTION_WORDS,
  SPEAKER_FRAMES,
  TOPIC_WORDS,
  type Speaker,
} from './words.ts'

/** One search term. Terms keep the order of the query. */
export interface SearchTerm {
  /** The typed text, folded and in lower case. */
  readonly text: string
  /** The term as one token: the whole identifier, or its joined parts. Empty for a plain word. */
  readonly wholes: readonly string[]
  /** The words that together match the term. A plain word has one. */
  readonly words: readonly string[]
  /** Weight of the term: 1, or less for words that a question needs but that carry no content. */
  readonly weight: number
  /** For a date: the ways in which texts write it. These are searched instead of `words`. */
  readonly date?: DateSpellings
}

/** A parsed query, independent of the engine. */
export interface SearchQuery {
  readonly terms: readonly SearchTerm[]
  /**
   * Tokens of symbols, which are searched if a query has no words. They find candidates, and a candidate must contain
   * `literal`.
   */
  readonly symbols: readonly string[]
  /** The query in lower case with single spaces. A text that quotes the query contains it. */
  readonly literal: string
  /** The role whose texts the query seems to ask for. */
  readonly speaker: Speaker | undefined
  /** Whether the query has function words, like texts of people. Calls and tool results seldom have function words. */
  readonly natural: boolean
  /** Whether the query is a question. Texts that ask a similar question are no answers, so they rank lower. */
  readonly asks: boolean
  /** The time that the query names. Entries of this time rank higher. */
  readonly period: Period | undefined
}

/**
 * `MAX_QUERY`: maximum characters (UTF-16 units) of a query that are read. `MAX_TERMS`: maximum number of its terms.
 */
export const MAX_QUERY = 512
export const MAX_TERMS = 24
/** Weight of a frame word inside a question. */
const SOFT = 0.25

interface Piece {
  readonly run: string
  readonly lowered: string
  weight: number
  readonly date?: DateMention
}

/**
 * Parses a query. Any string is a valid query, because queries have no syntax. `role`: set if only entries of this role
 * are searched. `asked`: the caller's time, which dates are relative to. Without it, dates are ordinary words.
 */
export function parseQuery(query: string, role?: HistoryRole, asked?: AskedAt): SearchQuery {
  const text = fold(query.slice(0, MAX_QUERY).toWellFormed())
  const dates = asked === undefined ? [] : readDates(lower(text), dayAt(asked.now, asked.timeZone))
  const pieces = piecesOf(text, dates)
  const question = weigh(pieces, text)
  const kept = pieces.some((piece) => piece.weight > 0)
    ? pieces.filter((piece) => piece.weight > 0)
    : pieces.map((piece) => ({ ...piece, weight: 1 }))
  const terms = distinct(kept.flatMap(termsOf))
  const tokens = tokenize(text)
  const emoji = tokens.words.filter((word) => !/[\p{L}\p{N}]/u.test(word))
  return {
    terms: distinct([...terms, ...emoji.map((word) => ({ text: word, wholes: [], words: [word], weight: 1 }))]).slice(
      0,
      MAX_TERMS,
    ),
    symbols: terms.length + emoji.length > 0 ? [] : tokens.extra.slice(0, MAX_TERMS).map(symbolToken),
    literal: lower(text).trim().replace(/\s+/gu, ' '),
    speaker: role === 'user' || role === 'assistant' ? role : question ? speakerOf(lower(text)) : undefined,
    natural: pieces.some((piece) => FUNCTION_WORDS.has(piece.lowered)),
    asks: question && asksFor(pieces, text),
    period: asked === undefined ? undefined : periodOf(dates, asked.timeZone),
  }
}

/** Splits a text into pieces. A piece is a date, or a match of `RUN` outside of the dates. */
function piecesOf(text: string, dates: readonly DateMention[]): Piece[] {
  const runs = Array.from(text.matchAll(RUN), ({ 0: run, index }) => ({ run, index })).filter(
    ({ index }) => !dates.some(({ start, end }) => start <= index && index < end),
  )
  const named = dates.map((date) => ({ run: text.slice(date.start, date.end), index: date.start, date }))
  return [...runs, ...named]
    .toSorted((left, right) => left.index - right.index)
    .map(({ index: _, ...piece }) => ({ ...piece, lowered: lower(piece.run), weight: 1 }))
}

/** Whether a question has a question mark, or a question word at its beginning. */
const asksFor = (pieces: readonly Piece[], text: string): boolean =>
  text.includes('?') || pieces.slice(0, 3).some(({ lowered }, index) => asksAt(lowered, index))

const asksAt = (word: string, index: number): boolean =>
  index === 0 ? QUESTION_WORDS.has(word) : /^(?:what|which|who|whom|whose|where|when|why|how)$/u.test(word)

/** Sets the weight of each piece. Returns whether the query reads as a question or a request. */
function weigh(pieces: readonly Piece[], text: string): boolean {
  for (const piece of pieces) if (FUNCTION_WORDS.has(piece.lowered)) piece.weight = 0
  const first = pieces[0]?.lowered ?? ''
  const functionWords = pieces.filter((piece) => piece.weight === 0).length
  const question =
    text.includes('?') ||
    QUESTION_WORDS.has(first) ||
    OPENING_COMMANDS.has(first) ||
    functionWords >= 2 ||
    opensWithFrame(pieces)
  if (!question) return false
  for (const piece of pieces) if (piece.weight > 0 && FRAME_WORDS.has(piece.lowered)) piece.weight = SOFT
  dropOpening(pieces)
  dropBeforeTopic(pieces)
  return true
}

/** Whether a query opens with a frame word that precedes its subject, as in "output of …" or "result about …". */
function opensWithFrame(pieces: readonly Piece[]): boolean {
  return pieces.some(
    (piece, index) =>
      index < 3 &&
      FRAME_WORDS.has(piece.lowered) &&
      TOPIC_WORDS.has(pieces[index + 1]?.lowered ?? '') &&
      piece.run !== '',
  )
}

/**
 * Sets the weight of a query's opening words to 0. The opening is the part before the first content word. A topic word
 * that follows a frame word also ends the opening.
 */
function dropOpening(pieces: readonly Piece[]): void {
  let framed = false
  for (const piece of pieces) {
    if (piece.weight === 1) return
    if (framed && TOPIC_WORDS.has(piece.lowered)) return
    if (piece.weight === SOFT) framed = true
    piece.weight = 0
  }
}

/**
 * Sets the weight of a frame word to 0 if a topic word follows directly, as in "<tool> result for …" and "did <tool>
 * return for …".
 */
function dropBeforeTopic(pieces: readonly Piece[]): void {
  for (const [index, piece] of pieces.entries()) {
    const next = pieces[index + 1]?.lowered
    if (piece.weight === SOFT && next !== undefined && TOPIC_WORDS.has(next)) piece.weight = 0
  }
}

function termsOf({ run, weight, date }: Piece): SearchTerm[] {
  const words = wordsOf(run)
  const lowered = lower(run)
  if (date !== undefined) return [{ text: lowered, wholes: [], words: [], weight, date: spellingsOf(date.written) }]
  if (!JOINERS.test(run)) {
    const parts = run.length > MAX_WORD || words.length !== 1 ? [] : camelParts(run)
    if (parts.length < 2) return words.map((word) => ({ text: word, wholes: [], words: [word], weight }))
    return [{ text: lowered, wholes: [lowered], words: parts, weight }]
  }
  return [{ text: lowered, wholes: [lowered, joined(run)], words: [...new Set(words)], weight }]
}

function distinct(terms: readonly SearchTerm[]): SearchTerm[] {
  const seen = new Map<string, SearchTerm>()
  for (const term of terms) {
    const before = seen.get(term.text)
    if (before === undefined || before.weight < term.weight) seen.set(term.text, term)
  }
  return [...seen.values()]
}

function speakerOf(query: string): Speaker | undefined {
  return SPEAKER_FRAMES.find(([, frame]) => frame.test(query))?.[0]
}
