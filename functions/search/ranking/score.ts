import type { HistoryRole } from '../../domain/history.ts'
import { closeness } from '../dates/period.ts'
import { lower } from '../tokens/fold-text.ts'
import type { PlannedTerm } from '../query/plan.ts'
import type { SearchQuery } from '../query/query.ts'
import {
  COMPLETE,
  contextOf,
  EVENTS_WITH_CONTEXT,
  nearCandidates,
  neighboursIn,
  usesContext,
  type NearText,
  type Window,
} from './context.ts'
import { contextQualities, coverage, LITERAL, readRow, type Candidate, type Row } from './rows.ts'
import { mapInBatches } from './score-in-batches.ts'
import { createSelfReferences, type SearchedRuns } from './self-references.ts'

export interface ScoredEvent<Found extends Candidate> {
  /** The document to show: the part or the chunk with the best match. */
  readonly best: Found
  readonly score: number
  /** Share of the query's terms that the event contains, 0 to 1; 0 for a self-reference. */
  readonly covered: number
  /** Quality of each term in the event itself, and in its neighbours. */
  readonly own: readonly number[]
  readonly context: readonly number[] | undefined
}

/**
 * Weights of the score, measured on recorded conversations (`test/search-quality.test.ts`). Most weights can change by
 * ± 50 % without effect.
 */
const OWN_ROW = 0.7
const TOOL_NAMED = 0.15
const BM25 = 0.1
const TOOL_EVENT = 0.06
const TOOL_EVENT_IN_SPEECH = 0.015
const SPEAKER = 0.12
/**
 * Deductions if the query is a question. `ASKS_TOO`: from a text that asks the same question. `INPUT`: from the input
 * of a run that used tools.
 */
const ASKS_TOO = 0.1
const INPUT = 0.1
/** Added for an entry of the time that the query names. */
const IN_PERIOD = 0.1
/** Minimum score and minimum coverage of a real event. Every certain self-reference has a lower score. */
const LEAST = 0.01
/** Number of hits that are ordered by score. The hits after them are ordered by time, newest first. */
export const RANKED = 100

/**
 * Minimum number of self-references that may hide real events. If there are fewer, the real events are among the
 * candidates.
 */
const MIN_SELF_REFERENCES = 20

/** Whether most candidates only refer to earlier searches of the history. */
export function isMostlySelfReferences(scored: readonly Pick<ScoredEvent<Candidate>, 'covered'>[]): boolean {
  const count = scored.filter(({ covered }) => covered === 0).length
  return count >= MIN_SELF_REFERENCES && count * 2 > scored.length
}

/** A search whose candidates are scored. The scoring works for any engine. */
export interface Scoring<Found extends Candidate> {
  readonly tenant: string
  readonly query: SearchQuery
  readonly terms: readonly PlannedTerm[]
  readonly searchedRuns: SearchedRuns
  /** Whether a neighbour fits the filters of the search. */
  readonly fits: (found: Found) => boolean
}

/** Reads the entries beside these hits. */
export type ReadWindows<Found> = (hits: readonly Found[]) => Promise<readonly Window<Found>[]>

/** The events of a search's candidates. */
export interface Ranking<Found extends Candidate> {
  /** Ordered by score, without context. Events with equal scores are ordered by time, newest first. */
  readonly events: readonly ScoredEvent<Found>[]
  /**
   * Orders the events by a score that also counts the entries beside the best events. Some of these entries become
   * events. Reads no entries if they cannot matter.
   */
  withContext(readWindows: ReadWindows<Found>): Promise<readonly ScoredEvent<Found>[]>
}

/** Scores the events of these candidates. */
export async function rankEvents<Found extends Candidate>(
  scoring: Scoring<Found>,
  candidates: readonly Found[],
): Promise<Ranking<Found>> {
  const { tenant, query, terms, searchedRuns, fits } = scoring
  const total = sum(terms.map((term) => term.importance))
  const cache = new Map<Found['id'], Row<Found>>()
  const read = async (documents: readonly Found[]): Promise<Row<Found>[]> => {
    const unread = documents.filter(({ id }) => !cache.has(id))
    for (const row of await mapInBatches(tenant, unread, (found) => readRow(query, terms, found, total)))
      cache.set(row.found.id, row)
    return documents.flatMap(({ id }) => cache.get(id) ?? [])
  }
  const findSelfReferences = createSelfReferences(query, searchedRuns)
  const shareOf = await findSelfReferences(candidates)
  const events = orderEvents(scoring, await read(candidates), { shareOf, total, windows: [] })
  return {
    events,
    async withContext(readWindows) {
      if (!usesContext(query) || (!query.natural && (events[0]?.covered ?? 0) >= COMPLETE)) return events
      const best = events.slice(0, EVENTS_WITH_CONTEXT)
      const windows = await readWindows(best.map((event) => event.best))
      const documents = withoutRepeats(windows.flat(2))
      const near = await mapInBatches(tenant, documents, (found) => ({
        found,
        qualities: contextQualities(terms, found),
      }))
      const known = new Set(candidates.map(({ event }) => event))
      const matching = near.filter(({ qualities }) => qualities.some((quality) => quality > 0))
      const isMatch = new Set(matching.map(({ found }) => found.event))
      const added = nearCandidates(windows, best).filter(
        (found) => !known.has(found.event) && fits(found) && (query.natural || isMatch.has(found.event)),
      )
      const all = withoutRepeats([...candidates, ...added])
      const shareOfAll = await findSelfReferences(withoutRepeats([...all, ...documents]))
      return orderEvents(scoring, await read(all), { shareOf: shareOfAll, total, windows, near })
    },
  }
}

interface Ordering<Found extends Candidate> {
  readonly shareOf: (found: Found) => number
  /** Importance of all terms. */
  readonly total: number
  readonly windows: readonly Window<Found>[]
  readonly near?: readonly NearText<Found>[]
}

const withoutRepeats = <Found extends Candidate>(documents: readonly Found[]): Found[] => [
  ...new Map(documents.map((found) => [found.id, found])).values(),
]

function orderEvents<Found extends Candidate>(
  { query, terms }: Scoring<Found>,
  rows: readonly Row<Found>[],
  { shareOf, total, windows, near = [] }: Ordering<Found>,
): ScoredEvent<Found>[] {
  const named = toolNamed(query)
  const heaviest = rows.reduce((most, row) => Math.max(most, row.weight), 0) || 1
  const neighbours = neighboursIn(windows)
  const nearTexts = Map.groupBy(
    near.filter(({ found }) => shareOf(found) === 1),
    ({ found }) => found.event,
  )
  const withTools = new Set([...rows, ...near].flatMap(({ found }) => (isTool(found) ? [found.runId] : [])))
  return Array.from(Map.groupBy(rows, (row) => row.found.event).values(), (event) => {
    const best = event.toSorted((left, right) => right.own - left.own || compareIds(left.found.id, right.found.id))[0]
    if (best === undefined) throw new RangeError('an event has at least one row')
    const { found } = best
    const own = terms.map((_, index) => Math.max(...event.map((row) => row.qualities[index] ?? 0)))
    const context = contextOf(terms, neighbours.get(found.event), nearTexts)
    const add = (qualities: readonly number[]): readonly number[] =>
      context === undefined ? qualities : qualities.map((quality, index) => Math.max(quality, context[index] ?? 0))
    const together = coverage(terms, add(own), total)
    const scores = event.map(
      (row) =>
        rowScore(row, coverage(terms, add(row.qualities), total), together) +
        (BM25 * row.weight) / heaviest -
        ASKS_TOO * row.asked,
    )
    const isInput = query.asks && query.speaker === undefined && found.role === 'user' && withTools.has(found.runId)
    const bonus =
      (named(found.toolName) ? TOOL_NAMED : 0) +
      prior(query, found.role) +
      (query.period === undefined ? 0 : IN_PERIOD * closeness(query.period, found.time)) -
      (isInput ? INPUT : 0)
    const share = shareOf(found)
    const score = Math.max(LEAST + together * LEAST, Math.max(...scores) + bonus) * share
    return { best: found, score, covered: share < 1 ? 0 : coverage(terms, own, total), own, context }
  }).toSorted((left, right) => right.score - left.score || right.best.time - left.best.time)
}

const isTool = ({ role }: Candidate): boolean => role === 'tool_call' || role === 'tool_result'

function rowScore({ near, literal }: Row<Candidate>, own: number, together: number): number {
  const covered = OWN_ROW * own + (1 - OWN_ROW) * together
  return covered ** 2 + near * covered + (literal ? LITERAL : 0)
}

/**
 * Returns a function that shows whether the query names a tool. A query names a tool if it contains all words of the
 * tool's name, one directly after another.
 */
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
