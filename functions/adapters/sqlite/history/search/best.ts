import type { HistoryQuery } from '../../../../domain/history.ts'
import { planTerms, type PlannedTerm, type Vocabulary } from '../../../../search/query/plan.ts'
import type { SearchQuery } from '../../../../search/query/query.ts'
import { fitsFilters } from '../../../../search/fits-filters.ts'
import {
  isMostlySelfReferences,
  RANKED,
  rankEvents,
  type Ranking,
  type ScoredEvent,
} from '../../../../search/ranking/score.ts'
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
  rareSubsets,
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
 * Larger limits for a search whose results are mostly self-references. The original events may
 * rank below the self-references that repeat them, or use other words.
 */
const RESCORE_DEPTH: Depth = { dense: 800, enough: Infinity, scored: 1_000 }

interface Found {
  readonly rows: readonly number[]
  readonly stage: number
}

/** The ranking of one way to plan the terms. */
interface Attempt {
  readonly terms: readonly PlannedTerm[]
  readonly ranking: Ranking<FoundDocument>
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
  const { terms, ranking, stage } = await bestAttempt(search)
  const scored = await ranking.withContext(async (hits) =>
    snapshot(search.database, () => readAllWindows(search, hits)),
  )
  return { terms, scored: scored.slice(0, RANKED), stage }
}

async function bestAttempt(search: Search): Promise<Attempt> {
  const plan = (widen: boolean): PlannedTerm[] =>
    snapshot(search.database, () => planTerms(search.parsed, search.vocabulary, widen))
  const terms = plan(false)
  const first = await attempt(search, matchingOf(search, terms))
  const covered = first.ranking.events.reduce((most, event) => Math.max(most, event.covered), 0)
  if (covered >= COVERED) return first
  const wider = plan(true)
  if (!isWider(wider, terms)) return first
  const second = await attempt(search, matchingOf(search, wider))
  return second.ranking.events.some((event) => event.covered > covered) ? second : first
}

export const matchingOf = ({ query }: Search, terms: readonly PlannedTerm[]): Matching => ({
  query,
  terms,
  bounds: boundsOf(query.scope, query.filters),
})

/** Whether the expansion has added alternatives to a term. */
const isWider = (wider: readonly PlannedTerm[], terms: readonly PlannedTerm[]): boolean =>
  wider.some((term, index) => term.alternatives.flat(2).length > (terms[index]?.alternatives.flat(2).length ?? 0))

async function attempt(search: Search, matching: Matching): Promise<Attempt> {
  const usual = await rankWithin(search, matching, USUAL)
  return isMostlySelfReferences(usual.ranking.events) ? rankWithin(search, matching, RESCORE_DEPTH) : usual
}

async function rankWithin(search: Search, matching: Matching, depth: Depth): Promise<Attempt> {
  const { loaded, stage } = snapshot(search.database, () => {
    const found = candidates(search, matching, depth)
    return { loaded: loadDocuments(search.database, found.rows.slice(0, depth.scored)), stage: found.stage }
  })
  const { terms } = matching
  return { terms, ranking: await rankDocuments(search, terms, visible(search, loaded)), stage }
}

/** Ranks the events of these documents. */
export const rankDocuments = (
  { database, query, parsed, audience }: Search,
  terms: readonly PlannedTerm[],
  documents: readonly FoundDocument[],
): Promise<Ranking<FoundDocument>> => {
  const { filters } = query
  const { tenant } = query.scope
  const ofRuns = async (runIds: readonly string[]): Promise<ReadonlySet<string>> =>
    snapshot(database, () => searchedRuns(database, audience.tenant, runIds))
  const fits = ({ hit }: FoundDocument): boolean => fitsFilters(hit, filters)
  return rankEvents({ tenant, query: parsed, terms, searchedRuns: ofRuns, fits }, documents)
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
        ? bestOfAny(search, matching, { least: rows.size === 0 ? MIN_ANY : 0, most: dense })
        : newest(expression, dense)
    const nearer = name === 'any' || matched.length < dense ? [] : denseExpressions(matching)
    for (const id of [...nearer.flatMap((match) => newest(match, NEARER)), ...matched]) rows.add(id)
    if (rows.size >= enough) break
  }
  return { rows: [...rows], stage: used }
}

/**
 * Returns at most `most` documents that contain the rarest terms, ordered by the total weight of these terms. If
 * weights are equal, the newest document comes first. `least`: see `rareParts`.
 */
function bestOfAny(
  { database, audience, query }: Search,
  matching: Matching,
  { least, most }: { readonly least: number; readonly most: number },
): number[] {
  const worth = new Map<number, number>()
  const parts = rareParts(matching.terms, least)
  const subsets = rareSubsets(parts)
  // All documents with a common term would be too many. For each subset of the parts, the newest documents that contain
  // all its parts are enough. Each of these documents weighs at least as much as the subset.
  for (const { expression, importance } of subsets ?? [])
    for (const id of newest(expression)) worth.set(id, Math.max(worth.get(id) ?? 0, importance))
  if (subsets === undefined)
    for (const part of parts)
      for (const id of matchAll(database, audience.range, partExpression(matching, part)))
        worth.set(id, (worth.get(id) ?? 0) + part.importance)
  const ordered = Array.from(worth).toSorted((left, right) => right[1] - left[1] || right[0] - left[0])
  return ordered.slice(0, most).map(([id]) => id)

  function newest(expression: string): number[] {
    const match = partExpression(matching, { expression })
    return matchRows(database, audience.range, match, { filters: query.filters, limit: most })
  }
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
