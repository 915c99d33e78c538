import type { PlannedTerm } from '../../search/query/plan.ts'
import { matchingOf, type Search } from './best.ts'
import { planFound } from './found-vocabulary.ts'
import { looseClauses, scopeClause, strictClauses, type Found, type Matching } from './search-bodies.ts'
import { anyOf } from './term-groups.ts'

/** The conditions of all matches of a query, without their order. */
export interface Listing {
  /** Clauses that the documents must match. */
  readonly must: readonly object[]
  /** Texts that the documents must contain, for queries of symbols. */
  readonly pieces: readonly string[]
  /** Plans the query's terms for these documents. */
  terms(documents: readonly Found[]): Promise<readonly PlannedTerm[]>
}

/** Returns the strictest way of matching that finds any document. */
export async function strictestListing(search: Search): Promise<Listing> {
  if (search.parsed.terms.length === 0) return wordlessListing(search)
  const matching = await matchingOf(search)
  const ways = waysOf(matching)
  const filters = ways.slice(0, -1).map((must) => ({ bool: { filter: must } }))
  const response = await search.send({
    size: 0,
    track_total_hits: false,
    query: scopeClause(matching),
    aggs: { ways: { filters: { filters } } },
  })
  const buckets = response.aggregations?.ways?.buckets ?? []
  const strictest = buckets.findIndex((bucket) => bucket.doc_count > 0)
  const { parsed, query } = search
  const known = { tenant: query.scope.tenant, counts: matching.counts }
  return {
    must: ways.at(strictest) ?? [],
    pieces: [],
    terms: (documents) => planFound(parsed, { ...known, documents }, false),
  }
}

/**
 * Returns the ways to match, strictest first: all terms, all content terms, all content terms in any form, any term.
 */
function waysOf(matching: Matching): readonly (readonly object[])[] {
  const content = matching.groups.filter(({ term }) => term.weight === 1)
  const groups = content.length === 0 ? matching.groups : content
  const wanted = { ...matching, groups }
  return [strictClauses(matching), strictClauses(wanted), looseClauses(wanted), [anyOf(looseClauses(matching))]]
}

/** Matches the symbols of a query without words. An empty query matches everything. */
export function wordlessListing({ parsed }: Search): Listing {
  return {
    must: parsed.symbols.map((token) => ({ term: { t_all: token } })),
    pieces: parsed.literal === '' ? [] : parsed.literal.split(' '),
    terms: async () => [],
  }
}
