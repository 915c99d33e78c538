import type { PlannedTerm } from '../../search/query/plan.ts'
import type { HistoryQuery } from '../../domain/history.ts'
import type { SearchQuery } from '../../search/query/query.ts'
import { fitsFilters } from '../../search/fits-filters.ts'
import type { Window } from '../../search/ranking/context.ts'
import type { Candidate } from '../../search/ranking/rows.ts'
import {
  isMostlySelfReferences,
  RANKED,
  rankEvents,
  type Ranking,
  type ScoredEvent,
} from '../../search/ranking/score.ts'
import { planFound } from './found-vocabulary.ts'
import { hitFields, type Source } from './indexed-document.ts'
import { nearBody, windowsIn } from './near-events.ts'
import {
  bestBody,
  countBody,
  countsOf,
  looseClauses,
  runsBody,
  strictClauses,
  type Counts,
  type Found,
  type Matching,
  type SearchResponse,
} from './search-bodies.ts'
import { anyOf, MIN_INSIDE_CHARACTERS, termGroups, type Inside, type TermGroup } from './term-groups.ts'

/** A search with a fixed upper time limit for all its pages. */
export interface Search {
  readonly query: HistoryQuery
  readonly parsed: SearchQuery
  readonly send: (body: object) => Promise<SearchResponse>
  /** See `HistoryPlace`. */
  readonly bound: number
}

/**
 * Minimum number of documents with all terms. If there are fewer, the pages also include documents with some of the
 * terms.
 */
const ENOUGH = 40
/**
 * Number of documents that are scored if most of the best events are self-references. The engine may rank other events
 * below the self-references.
 */
const RESCORE_DEPTH = 500
/**
 * If no event covers this share of the query, the query's words are expanded to typos and to words that contain them.
 */
const COVERED = 0.75
/**
 * Limits of this expansion. A word is expanded if it occurs in at most this many documents, and at most this many words
 * are expanded.
 */
const WIDENED = { documents: 2_000, words: 8 }

export interface FoundDocument extends Candidate {
  readonly id: string
  readonly event: string
  readonly source: Source
}

export interface Best {
  readonly terms: readonly PlannedTerm[]
  readonly scored: readonly ScoredEvent<FoundDocument>[]
  /** Clauses that all documents on the search's pages must match, except the documents of the best events. */
  readonly way: readonly object[]
}

/** The ranking of one way to plan the terms. */
interface Attempt {
  readonly terms: readonly PlannedTerm[]
  readonly ranking: Ranking<FoundDocument>
}

/**
 * Finds the best events for the exact words. If they cover little of the query, tries expanded words, and keeps the
 * better result.
 */
export async function best(search: Search): Promise<Best> {
  const { terms, ranking, way } = await bestAttempt(search)
  const scored = await ranking.withContext((hits) => readWindows(search, hits))
  return { terms, scored: scored.slice(0, RANKED), way }
}

async function bestAttempt(search: Search): Promise<Attempt & Pick<Best, 'way'>> {
  const matching = await matchingOf(search)
  const { groups, counts } = matching
  const asIs = await search.send(bestBody(matching))
  const first = await attempt(search, matching, asIs, false)
  const isEnough = (asIs.aggregations?.all?.doc_count ?? 0) >= ENOUGH
  const usual = { ...first, way: isEnough ? strictClauses(matching) : [anyOf(looseClauses(matching))] }
  if (coveredBy(first) >= COVERED) return usual
  const wider = { ...matching, inside: rareWords(groups, counts) }
  const found = wider.inside.size > matching.inside.size ? await search.send(bestBody(wider)) : asIs
  const second = await attempt(search, wider, found, true)
  return coveredBy(second) > coveredBy(first) ? { ...second, way: [anyOf(looseClauses(wider))] } : usual
}

/** Returns the query's words with their counts in the index. */
export async function matchingOf(search: Search): Promise<Matching> {
  const { query, parsed, bound } = search
  const groups = termGroups(parsed)
  const counts = countsOf(groups, await search.send(countBody({ query, bound }, groups)))
  return { query, bound, groups, counts, inside: unknownWords(groups, counts) }
}

/**
 * Scores the documents of `response`, which answers the usual request. If most of their events are self-references,
 * requests and scores more documents.
 */
async function attempt(search: Search, matching: Matching, response: SearchResponse, widen: boolean): Promise<Attempt> {
  const usual = await rankResponse(search, matching.counts, response, widen)
  if (!isMostlySelfReferences(usual.ranking.events)) return usual
  return rankResponse(search, matching.counts, await search.send(bestBody(matching, RESCORE_DEPTH)), widen)
}

async function rankResponse(
  search: Search,
  counts: Counts,
  { hits }: SearchResponse,
  widen: boolean,
): Promise<Attempt> {
  const { parsed, query } = search
  const terms = await planFound(parsed, { tenant: query.scope.tenant, counts, documents: hits.hits }, widen)
  return { terms, ranking: await rankDocuments(search, terms, hits.hits.map(documentOf)) }
}

/** Reads the events around each hit, in the order of the log. */
async function readWindows(
  { query, bound, send }: Search,
  hits: readonly FoundDocument[],
): Promise<Window<FoundDocument>[]> {
  if (hits.length === 0) return []
  const sources = hits.map(({ source }) => source)
  const windows = windowsIn(await send(nearBody(query, bound, sources)), hits.length)
  return windows.map((window) => window.map((event) => event.map(documentOf)))
}

/** Ranks the events of these documents. */
export function rankDocuments(
  { parsed, query, send }: Search,
  terms: readonly PlannedTerm[],
  documents: readonly FoundDocument[],
): Promise<Ranking<FoundDocument>> {
  const { tenant } = query.scope
  const searchedRuns = async (runIds: readonly string[]): Promise<ReadonlySet<string>> => {
    const { hits } = (await send(runsBody(tenant, runIds))).hits
    return new Set(hits.flatMap(({ _source: { run, searched } }) => (searched === true ? [run] : [])))
  }
  const fits = ({ source }: FoundDocument): boolean => fitsFilters(hitFields(source), query.filters)
  return rankEvents({ tenant, query: parsed, terms, searchedRuns, fits }, documents)
}

const coveredBy = ({ ranking }: Attempt): number =>
  ranking.events.reduce((most, event) => Math.max(most, event.covered), 0)

/**
 * Returns the words that no document in the scope contains, not even inflected. Documents may still contain longer
 * words that include these words.
 */
const unknownWords = (groups: readonly TermGroup[], counts: Counts): Inside => new Set(wordsOfAtMost(0, groups, counts))

/** Returns the unknown words and the rare words. A rare word may be only a part of the word that the searcher needs. */
const rareWords = (groups: readonly TermGroup[], counts: Counts): Inside =>
  new Set([
    ...unknownWords(groups, counts),
    ...wordsOfAtMost(WIDENED.documents, groups, counts)
      .filter((word) => word.length >= MIN_INSIDE_CHARACTERS)
      .slice(0, WIDENED.words),
  ])

function wordsOfAtMost(most: number, groups: readonly TermGroup[], { tokens }: Counts): string[] {
  return groups
    .flatMap((group) => group.words)
    .filter(({ word, forms }) => [word, ...forms].every((form) => (tokens.get(form) ?? 0) <= most))
    .map(({ word }) => word)
}

export function documentOf({ _id, _source }: Found): FoundDocument {
  const { event, role, run, tool, call, text, time, searched = false, task = false } = _source
  return { id: _id, event, role, runId: run, toolName: tool, call, text, time, searched, task, source: _source }
}
