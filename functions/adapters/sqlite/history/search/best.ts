import { definedFields } from '../../../../domain/defined-fields.ts'
import type { HistoryQuery } from '../../../../domain/history.ts'
import { planTerms, type PlannedTerm, type Vocabulary } from '../../../../search/query/plan.ts'
import type { SearchQuery } from '../../../../search/query/query.ts'
import { fitsFilters } from '../../../../search/fits-filters.ts'
import { isMostlySelfReferences, RANKED, scoreEvents, type ScoredEvent } from '../../../../search/ranking/score.ts'
import { snapshot, type Database } from '../../database.ts'
import type { Audience } from '../vocabulary/audiences.ts'
import type { HistoryPlace } from './cursor.ts'
import {
  denseExpressions,
  MIN_ANY,
  type Matching,
  matchExpression,
  partExpression,
  rareParts,
  STAGES,
} from './match.ts'
import type { Window } from '../../../../search/ranking/context.ts'
import { nearDocuments } from './near-documents.ts'
import { loadDocuments, matchAll, matchRows, searchedRuns, type FoundDocument } from './rows.ts'
import { boundsOf } from './scope.ts'

/**
 * One search. Each read of the index uses one snapshot. Texts are scored outside of snapshots, so that the event loop
 * is not blocked.
 */
export interface Search {
  readonly database: Database
  readonly query: HistoryQuery
  readonly parsed: SearchQuery
  readonly audience: Audience
  /** Vocabulary of the audience. */
  readonly vocabulary: Vocabulary
  /**
   * Position where the page begins. Its document numbers are absolute, not relative to the tenant as in a cursor. Its
   * `bound` is the end of the audience's range.
   */
  readonly place: HistoryPlace
}

/** Maximum documents that each expression of `denseExpressions` adds. */
const NEARER = 40
/** If no event covers this share of the query, its words are expanded to typos and to words that contain them. */
const COVERED = 0.75

/** Limits of a search. */
interface Depth {
  /**
   * Maximum number of matching documents that are read. If more match, documents with the words near each other are
   * read first.
   */
  readonly dense: number
  /** If fewer documents match, the next wider way of matching is tried too. */
  readonly enough: number
  /** Number of documents that are read and scored. */
  readonly scored: number
}

const USUAL: Depth = { dense: 150, enough: 40, scored: 100 }
/**
 * Larger limits for a search whose results are mostly self-references. The events that self-references repeat may rank
 * below them, or use other words.
 */
const RESCORE_DEPTH: Depth = { dense: 800, enough: Infinity, scored: 1_000 }

interface Found {
  readonly rows: readonly number[]
  readonly stage: number
}

/** The best events of a search, ordered by score. */
interface Best {
  readonly terms: readonly PlannedTerm[]
  readonly scored: readonly ScoredEvent<FoundDocument>[]
  readonly stage: number
}

/**
 * Finds the best events for the exact words. If they cover little of the query, tries expanded words, and keeps the
 * better result.
 */
export async function best(search: Search): Promise<Best> {
  const plan = (widen: boolean): PlannedTerm[] =>
    snapshot(search.database, () => planTerms(search.parsed, search.vocabulary, widen))
  const terms = plan(false)
  const first = await bestOf(search, matchingOf(search, terms))
  const covered = first.scored.reduce((most, event) => Math.max(most, event.covered), 0)
  if (covered >= COVERED) return first
  const wider = plan(true)
  if (!isWider(wider, terms)) return first
  const second = await bestOf(search, matchingOf(search, wider))
  return second.scored.some((event) => event.covered > covered) ? second : first
}

export const matchingOf = ({ query }: Search, terms: readonly PlannedTerm[]): Matching => ({
  query,
  terms,
  bounds: boundsOf(query.scope, query.filters),
})

/** Whether the expansion has added alternatives to a term. */
const isWider = (wider: readonly PlannedTerm[], terms: readonly PlannedTerm[]): boolean =>
  wider.some((term, index) => term.alternatives.flat(2).length > (terms[index]?.alternatives.flat(2).length ?? 0))

async function bestOf(search: Search, matching: Matching): Promise<Best> {
  const usual = await bestWithin(search, matching, USUAL)
  const { scored, stage } = isMostlySelfReferences(usual.scored)
    ? await bestWithin(search, matching, RESCORE_DEPTH)
    : usual
  return { terms: matching.terms, scored: scored.slice(0, RANKED), stage }
}

async function bestWithin(search: Search, matching: Matching, depth: Depth): Promise<Pick<Best, 'scored' | 'stage'>> {
  const { loaded, stage } = snapshot(search.database, () => {
    const found = candidates(search, matching, depth)
    return { loaded: loadDocuments(search.database, found.rows.slice(0, depth.scored)), stage: found.stage }
  })
  const readWindows = async (hits: readonly FoundDocument[]): Promise<Window<FoundDocument>[]> =>
    snapshot(search.database, () => readAllWindows(search, hits))
  const documents = visible(search, loaded)
  return { scored: await scoredBy(search, matching.terms, documents, readWindows), stage }
}

/**
 * Returns the events of these documents, ordered by score. If `readWindows` is set, the entries beside an event count
 * towards its score.
 */
export const scoredBy = (
  { database, query, parsed, audience }: Search,
  terms: readonly PlannedTerm[],
  documents: readonly FoundDocument[],
  readWindows?: (hits: readonly FoundDocument[]) => Promise<Window<FoundDocument>[]>,
): Promise<ScoredEvent<FoundDocument>[]> => {
  const { filters } = query
  const { tenant } = query.scope
  const ofRuns = async (runIds: readonly string[]): Promise<ReadonlySet<string>> =>
    snapshot(database, () => searchedRuns(database, audience.tenant, runIds))
  const fits = ({ hit }: FoundDocument): boolean => fitsFilters(hit, filters)
  const scoring = { tenant, query: parsed, terms, searchedRuns: ofRuns, fits, ...definedFields({ readWindows }) }
  return scoreEvents(scoring, documents)
}

/** Returns the events around each hit, in the order of the log. Omits events outside of the search's scope. */
function readAllWindows(search: Search, hits: readonly FoundDocument[]): Window<FoundDocument>[] {
  const { database, audience, query } = search
  const { scope, filters } = query
  const ids = hits.map((hit) => nearDocuments(database, audience, hit))
  const loaded = loadDocuments(database, [...new Set(ids.flat())]).filter(
    ({ hit: { session, owner, runId } }) =>
      (scope.session ?? session) === session && (scope.owner ?? owner) === owner && filters.notRun !== runId,
  )
  const byId = new Map(loaded.map((one) => [one.id, one]))
  return ids.map((near) => {
    const documents = near.flatMap((id) => byId.get(id) ?? [])
    return [...Map.groupBy(documents, ({ event }) => event).values()]
  })
}

/**
 * Returns documents to score. Tries the ways of matching from strict to wide until it has enough documents. Documents
 * of stricter ways come first.
 */
function candidates(search: Search, matching: Matching, { dense, enough }: Depth): Found {
  const { database, query, audience } = search
  const rows = new Set<number>()
  let used = 0
  for (const [stage, name] of STAGES.entries()) {
    const expression = matchExpression(matching, name)
    if (expression === undefined) continue
    used = stage
    const newest = (match: string, limit: number): number[] =>
      matchRows(database, audience.range, match, { filters: query.filters, limit })
    const matched =
      name === 'any'
        ? bestOfAny(search, matching, rows.size === 0 ? MIN_ANY : 0).slice(0, dense)
        : newest(expression, dense)
    const nearer = name === 'any' || matched.length < dense ? [] : denseExpressions(matching)
    for (const id of [...nearer.flatMap((match) => newest(match, NEARER)), ...matched]) rows.add(id)
    if (rows.size >= enough) break
  }
  return { rows: [...rows], stage: used }
}

/**
 * Returns the documents that contain the rarest terms, ordered by the total weight of these terms. If weights are
 * equal, the newest document comes first.
 */
function bestOfAny({ database, audience }: Search, matching: Matching, least: number): number[] {
  const worth = new Map<number, number>()
  for (const part of rareParts(matching.terms, least))
    for (const id of matchAll(database, audience.range, partExpression(matching, part)))
      worth.set(id, (worth.get(id) ?? 0) + part.importance)
  const ordered = Array.from(worth).toSorted((left, right) => right[1] - left[1] || right[0] - left[0])
  return ordered.map(([id]) => id)
}

/**
 * Removes documents outside the filters. The index cannot decide this exactly, because scope tokens are hashes and
 * times are matched by the hour.
 */
export function visible({ query }: Search, documents: readonly FoundDocument[]): FoundDocument[] {
  const { scope, filters } = query
  return documents.filter(
    ({ hit, time }) =>
      (scope.session ?? hit.session) === hit.session &&
      (scope.owner ?? hit.owner) === hit.owner &&
      time >= (filters.since ?? time) &&
      time <= (filters.until ?? time),
  )
}
