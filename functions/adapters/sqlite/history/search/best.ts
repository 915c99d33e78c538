import type { HistoryQuery } from '../../../../domain/history.ts'
import { planTerms, type PlannedTerm, type Vocabulary } from '../../../../search/query/plan.ts'
import type { SearchQuery } from '../../../../search/query/query.ts'
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
import { loadDocuments, matchAll, matchRows, searchedRuns, type FoundDocument } from './rows.ts'
import { boundsOf } from './scope.ts'

/** One search. Whoever reads the index looks at one state of it; texts are scored outside of that, so that others get their turn. */
export interface Search {
  readonly database: Database
  readonly query: HistoryQuery
  readonly parsed: SearchQuery
  readonly audience: Audience
  /** Of what the audience may see. */
  readonly vocabulary: Vocabulary
  /** Where the page begins, in the numbers of documents; its `bound` is the end of the audience's range. */
  readonly place: HistoryPlace
}

/** Documents of each way to be near. */
const NEARER = 40
/** Where no event has this much of the query, words are stretched to what they may be a piece or a slip of. */
const COVERED = 0.75

/** How far a search looks. */
interface Depth {
  /** So many matching documents that they are not all looked at: those with the words near each other come first. */
  readonly dense: number
  /** With fewer documents than this, the next wider way of matching is tried too. */
  readonly enough: number
  /** Documents that are read and scored. */
  readonly scored: number
}

const USUAL: Depth = { dense: 150, enough: 40, scored: 100 }
/** Where most of what was found so far only talks about the history: what happened stands behind it, or says it otherwise. */
const RESCORE_DEPTH: Depth = { dense: 800, enough: Infinity, scored: 1_000 }

interface Found {
  readonly rows: readonly number[]
  readonly stage: number
}

/** The best events of a search, in the order of their scores. */
interface Best {
  readonly terms: readonly PlannedTerm[]
  readonly scored: readonly ScoredEvent<FoundDocument>[]
  readonly stage: number
}

/** The best events, as the words are; where these have little of the query, as the words may be meant, if that is better. */
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

/** Whether words stand for more than before. */
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
  return { scored: await scoredBy(search, matching.terms, visible(search, loaded)), stage }
}

/** These documents' events, in the order of their scores. */
export const scoredBy = (
  { database, query, parsed, audience }: Search,
  terms: readonly PlannedTerm[],
  documents: readonly FoundDocument[],
): Promise<ScoredEvent<FoundDocument>[]> =>
  scoreEvents(query.scope.tenant, parsed, terms, documents, async (runIds) =>
    snapshot(database, () => searchedRuns(database, audience.tenant, runIds)),
  )

/** Documents from the strictest way of matching that gives enough, after those of the stricter ones. */
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

/** The documents that have most of the rare terms, newer first among equals. */
function bestOfAny({ database, audience }: Search, matching: Matching, least: number): number[] {
  const worth = new Map<number, number>()
  for (const part of rareParts(matching.terms, least))
    for (const id of matchAll(database, audience.range, partExpression(matching, part)))
      worth.set(id, (worth.get(id) ?? 0) + part.importance)
  const ordered = Array.from(worth).toSorted((left, right) => right[1] - left[1] || right[0] - left[0])
  return ordered.map(([id]) => id)
}

/** A scope's tokens are hashes, and times are matched to the hour: the documents themselves decide. */
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
