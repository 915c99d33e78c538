import type { HistoryRole } from '../../domain/history.ts'
import { findSelfReferences, type SearchedRuns } from './self-references.ts'
import { lower } from '../tokens/fold-text.ts'
import type { PlannedTerm } from '../query/plan.ts'
import type { SearchQuery } from '../query/query.ts'
import { mapInBatches } from './score-in-batches.ts'
import { matchesOf, readable, type Match } from '../query/term-matches.ts'

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
   * For a text, whether its author had searched the history before. For a task, whether its leader or its member had
   * done so.
   */
  readonly searched: boolean
  /** Whether this text is the task of a team member. */
  readonly task: boolean
}

export interface ScoredEvent<Found extends Candidate> {
  /** The document to show: the part or the chunk with the best match. */
  readonly best: Found
  readonly score: number
  /** Share of the query's terms that the event contains, 0 to 1; 0 for a self-reference. */
  readonly covered: number
}

/**
 * Weights of the score, measured on recorded conversations (`test/search-quality.test.ts`). Most weights can change by
 * ± 50 % without effect.
 */
const OWN_ROW = 0.7
const ADJACENT = 0.08
const NEAR = 0.1
/** At this distance between two neighbouring terms, in characters, their nearness is half of the maximum. */
const NEAR_LETTERS = 30
const TOOL_NAMED = 0.15
const BM25 = 0.1
const SATURATION = 1.2
const LENGTH = 0.75
/** Characters of an average text, for BM25's length normalisation. */
const AVERAGE_LENGTH = 800
const LITERAL = 0.05
/**
 * Minimum quality if the text contains the query literally, even inside words. It exceeds the quality of any similar
 * word.
 */
const LITERAL_QUALITY = 0.85
const TOOL_EVENT = 0.06
const TOOL_EVENT_IN_SPEECH = 0.015
const SPEAKER = 0.12
/** Number of hits that are ordered by score. The hits after them are ordered by time, newest first. */
export const RANKED = 100

interface Row<Found> {
  readonly found: Found
  readonly qualities: readonly number[]
  /** Share of the query in the document's own text, without its call. */
  readonly own: number
  readonly near: number
  /** BM25 weight of the text. */
  readonly weight: number
  readonly literal: boolean
}

/**
 * Minimum number of self-references that may hide real events. With fewer, the real events are among the candidates.
 */
const MIN_SELF_REFERENCES = 20

/** Whether most candidates only refer to earlier searches of the history. */
export function isMostlySelfReferences(scored: readonly Pick<ScoredEvent<Candidate>, 'covered'>[]): boolean {
  const count = scored.filter(({ covered }) => covered === 0).length
  return count >= MIN_SELF_REFERENCES && count * 2 > scored.length
}

/**
 * Orders events by their score, and equal scores by time, newest first. It works for any engine: it reads only the
 * candidates' texts, and which of their runs have searched the history.
 */
export async function scoreEvents<Found extends Candidate>(
  tenant: string,
  query: SearchQuery,
  terms: readonly PlannedTerm[],
  candidates: readonly Found[],
  searchedRuns: SearchedRuns,
): Promise<ScoredEvent<Found>[]> {
  const total = sum(terms.map((term) => term.importance))
  const named = toolNamed(query)
  const shareOf = await findSelfReferences(query, candidates, searchedRuns)
  const rows = await mapInBatches(tenant, candidates, (found) => readRow(query, terms, found, total))
  const heaviest = rows.reduce((most, row) => Math.max(most, row.weight), 0) || 1
  return Array.from(Map.groupBy(rows, (row) => row.found.event).values(), (event) => {
    const union = terms.map((_, index) => Math.max(...event.map((row) => row.qualities[index] ?? 0)))
    const together = coverage(terms, union, total)
    const scores = event.map((row) => eventScore(row, together, total, terms) + (BM25 * row.weight) / heaviest)
    const best = event.toSorted((left, right) => right.own - left.own || compareIds(left.found.id, right.found.id))[0]
    if (best === undefined) throw new RangeError('an event has at least one row')
    const bonus = (named(best.found.toolName) ? TOOL_NAMED : 0) + prior(query, best.found.role)
    const score = Math.max(...scores) + bonus
    const share = shareOf(best.found)
    return { best: best.found, score: score * share, covered: share < 1 ? 0 : together }
  }).toSorted((left, right) => right.score - left.score || right.best.time - left.best.time)
}

function readRow<Found extends Candidate>(
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
  const near = Math.max(nearness(terms, own), inCall === undefined ? 0 : nearness(terms, inCall))
  return {
    found,
    qualities,
    own: coverage(terms, own.map(bestQuality), total) + (literal ? LITERAL : 0) + nearness(terms, own),
    near,
    weight: termWeight(terms, own, inCall, found),
    literal,
  }
}

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

function eventScore<Found extends Candidate>(
  row: Row<Found>,
  together: number,
  total: number,
  terms: readonly PlannedTerm[],
): number {
  const covered = OWN_ROW * coverage(terms, row.qualities, total) + (1 - OWN_ROW) * together
  return covered ** 2 + row.near * covered + (row.literal ? LITERAL : 0)
}

function coverage(terms: readonly PlannedTerm[], qualities: readonly number[], total: number): number {
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

/** Returns a function that shows whether the query names a tool: its words include all words of the tool's name. */
function toolNamed(query: SearchQuery): (toolName: string | undefined) => boolean {
  const known = new Map<string, boolean>()
  return (toolName) => {
    if (toolName === undefined) return false
    const before = known.get(toolName)
    if (before !== undefined) return before
    const words = lower(toolName)
      .split(/[^\p{L}\p{N}]+/u)
      .filter((word) => word !== '')
    const asked = ` ${query.literal.split(/[^\p{L}\p{N}]+/u).join(' ')} `
    const names = words.length > 0 && asked.includes(` ${words.join(' ')} `)
    known.set(toolName, names)
    return names
  }
}

function prior(query: SearchQuery, role: HistoryRole): number {
  const speaker = role === 'user' || role === 'assistant' ? role : 'tool'
  if (query.speaker !== undefined) return speaker === query.speaker ? SPEAKER : 0
  if (speaker !== 'tool') return 0
  return query.natural ? TOOL_EVENT_IN_SPEECH : TOOL_EVENT
}

const compareIds = (left: number | string, right: number | string): number => (left < right ? -1 : left > right ? 1 : 0)
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
