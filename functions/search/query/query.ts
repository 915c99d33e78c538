import type { HistoryRole } from '../../domain/history.ts'
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
  /** 1. It is less for words that only phrase the question. */
  readonly weight: number
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
}

/**
 * Parses a query. Any string is a valid query without syntax. `role`: set if only entries of this role are searched.
 */
export function parseQuery(query: string, role?: HistoryRole): SearchQuery {
  const text = fold(query.slice(0, MAX_QUERY).toWellFormed())
  const pieces = Array.from(text.matchAll(RUN), ([run]): Piece => ({ run, lowered: lower(run), weight: 1 }))
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
  }
}

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

/** Whether a query such as "output of …" or "result about …" opens with a frame word before its subject. */
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
 * Sets the weight of a query's opening words to 0. The opening is the part before the first content word. A topic word that
 * follows a frame word also ends it.
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
 * Sets the weight of a frame word right before a topic word to 0, as in "<tool> result for …" and "did <tool> return
 * for …".
 */
function dropBeforeTopic(pieces: readonly Piece[]): void {
  for (const [index, piece] of pieces.entries()) {
    const next = pieces[index + 1]?.lowered
    if (piece.weight === SOFT && next !== undefined && TOPIC_WORDS.has(next)) piece.weight = 0
  }
}

function termsOf({ run, weight }: Piece): SearchTerm[] {
  const words = wordsOf(run)
  const lowered = lower(run)
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
