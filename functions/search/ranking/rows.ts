import type { HistoryRole } from '../../domain/history.ts'
import { closeness } from '../dates/period.ts'
import type { PlannedTerm } from '../query/plan.ts'
import type { SearchQuery } from '../query/query.ts'
import { matchesOf, readable, type Match } from '../query/term-matches.ts'
import { shareInQuestions } from './questions.ts'

/** A document that an engine found. */
export interface Candidate {
  readonly id: number | string
  /** The event of the document. All documents of one event become one hit. */
  readonly event: number | string
  readonly role: HistoryRole
  readonly runId: string
  readonly toolName: string | undefined
  /** For a result: the beginning of its call. */
  readonly call: string | undefined
  readonly text: string
  readonly time: number
  /**
   * For a text, whether its author had searched the history before. For a task, whether the task's leader or member
   * had done so.
   */
  readonly searched: boolean
  /** Whether this text is the task of a team member. */
  readonly task: boolean
}

/** Weights of a row. These and the weights in `score.ts` were measured on recorded conversations. */
const ADJACENT = 0.08
const NEAR = 0.1
/** Distance between two neighbouring terms, in characters, at which their nearness is half of `NEAR`. */
const NEAR_LETTERS = 30
const SATURATION = 1.2
const LENGTH = 0.75
/** Characters of an average text, for BM25's length normalisation. */
const AVERAGE_LENGTH = 800
export const LITERAL = 0.05
/**
 * Minimum quality if the text contains the query literally, even inside words. It exceeds the quality of any similar
 * word.
 */
const LITERAL_QUALITY = 0.85

/** A candidate and how well it matches. */
export interface Row<Found> {
  readonly found: Found
  readonly qualities: readonly number[]
  /** Share of the query in the document's own text, without its call. */
  readonly own: number
  readonly near: number
  /** BM25 weight of the text. */
  readonly weight: number
  readonly literal: boolean
  /** Share of the matched terms that are in a question of the text. */
  readonly asked: number
}

/** Maximum characters, from the beginning of a neighbour's text, in which an entry's missing terms are searched. */
const MAX_CONTEXT_CHARACTERS = 1_000

/** Returns the quality of each term in the beginning of a neighbour's text. The quality of a date is 0. */
export function contextQualities(terms: readonly PlannedTerm[], found: Candidate): readonly number[] {
  const text = readable(found.text.slice(0, MAX_CONTEXT_CHARACTERS))
  return terms.map((term) => (term.period === undefined ? bestQuality(matchesOf(term, text)) : 0))
}

/** Determines how well a candidate matches. */
export function readRow<Found extends Candidate>(
  query: SearchQuery,
  terms: readonly PlannedTerm[],
  found: Found,
  total: number,
): Row<Found> {
  const text = readable(found.text)
  const own = terms.map((term) => matchesOf(term, text))
  const call = found.role === 'tool_result' && found.call !== undefined ? readable(found.call) : undefined
  const inCall = call === undefined ? undefined : terms.map((term) => matchesOf(term, call))
  const literal = query.literal.length > 3 && text.lowered.includes(query.literal)
  const least = literal ? LITERAL_QUALITY : 0
  const qualities = terms.map((_, index) => Math.max(least, bestQuality(own[index]), bestQuality(inCall?.[index])))
  for (const [index, { period }] of terms.entries())
    if (period !== undefined) qualities[index] = Math.max(qualities[index] ?? 0, closeness(period, found.time))
  const near = Math.max(nearness(terms, own), inCall === undefined ? 0 : nearness(terms, inCall))
  return {
    found,
    qualities,
    own: coverage(terms, own.map(bestQuality), total) + (literal ? LITERAL : 0) + nearness(terms, own),
    near,
    weight: termWeight(terms, own, inCall, found),
    literal,
    asked: query.asks && isSpeech(found) ? shareInQuestions(terms, own, text.folded) : 0,
  }
}

const isSpeech = ({ role }: Candidate): boolean => role === 'user' || role === 'assistant'

function termWeight(
  terms: readonly PlannedTerm[],
  own: readonly (readonly Match[])[],
  inCall: readonly (readonly Match[])[] | undefined,
  { text, call }: Candidate,
): number {
  const length = text.length + (call?.length ?? 0)
  const norm = SATURATION * (1 - LENGTH + (LENGTH * length) / AVERAGE_LENGTH)
  return sum(
    terms.map((term, index) => {
      const count = (own[index]?.length ?? 0) + (inCall?.[index]?.length ?? 0)
      return (term.importance * count * (SATURATION + 1)) / (count + norm)
    }),
  )
}

/** Returns the share of the query that these qualities cover, 0 to 1. */
export function coverage(terms: readonly PlannedTerm[], qualities: readonly number[], total: number): number {
  if (total === 0) return 0
  return sum(terms.map((term, index) => term.importance * (qualities[index] ?? 0))) / total
}

const bestQuality = (matches: readonly Match[] | undefined): number =>
  (matches ?? []).reduce((best, match) => Math.max(best, match.quality), 0)

/** Returns how close together the query's neighbouring terms are in the text, 0 to ADJACENT + NEAR. */
function nearness(terms: readonly PlannedTerm[], matches: readonly (readonly Match[])[]): number {
  if (terms.length < 2) return 0
  let result = 0
  for (let index = 1; index < terms.length; index++) {
    const { gap, ordered } = closest(matches[index - 1] ?? [], matches[index] ?? [])
    result += NEAR / (1 + gap / NEAR_LETTERS) + (ordered && gap <= 2 ? ADJACENT : 0)
  }
  return result / (terms.length - 1)
}

function closest(left: readonly Match[], right: readonly Match[]): { gap: number; ordered: boolean } {
  let gap = Infinity
  let ordered = false
  for (const first of left)
    for (const second of right) {
      const forward = second.start - first.end
      const distance = forward >= 0 ? forward : Math.max(0, first.start - second.end)
      const inOrder = second.start > first.start
      if (distance < gap || (distance === gap && inOrder)) [gap, ordered] = [distance, inOrder]
    }
  return { gap, ordered }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
