import { idPrefixAt } from '../../domain/ids.ts'
import type { HistoryQuery } from '../../domain/history.ts'
import type { Source } from './indexed-document.ts'
import {
  anyOf,
  countedTokens,
  looseClause,
  strictClause,
  timeRange,
  type Clause,
  type Inside,
  type TermGroup,
  type Worth,
} from './term-groups.ts'

/** The fields of a search response that are read. */
export interface SearchResponse {
  readonly timed_out: boolean
  readonly _shards: { readonly failed: number }
  readonly hits: { readonly hits: readonly Found[]; readonly total?: { readonly value: number } }
  readonly aggregations?: {
    readonly tokens?: { readonly buckets: readonly { readonly doc_count: number }[] }
    readonly all?: { readonly doc_count: number }
    readonly ways?: { readonly buckets: readonly { readonly doc_count: number }[] }
    readonly before?: { readonly buckets: readonly NearBucket[] }
    readonly after?: { readonly buckets: readonly NearBucket[] }
    readonly sessions?: { readonly buckets: readonly { readonly events: { readonly buckets: readonly unknown[] } }[] }
  }
}

/** Events before or after a hit, nearest first. */
export interface NearBucket {
  readonly events: {
    readonly buckets: readonly { readonly documents: { readonly hits: { readonly hits: readonly Found[] } } }[]
  }
}

export interface Found {
  readonly _id: string
  readonly _source: Source
  readonly sort?: readonly unknown[]
}

/** The conditions that all pages of a query share. */
export interface Scoped {
  readonly query: HistoryQuery
  /** Time after which messages are excluded, in milliseconds since 1970. */
  readonly bound: number | undefined
}

/** Number of documents that are read and scored. */
const SCORED = 100
/** Score bonus of documents that contain all terms, about the score of one rare word. */
const ALL_TERMS = 10

/** A query with its term groups and their counts. */
export interface Matching extends Scoped {
  readonly groups: readonly TermGroup[]
  readonly inside: Inside
  readonly counts: Counts
}

/** Statistics of the documents within the search's scope: their number, and how many of them have each token. */
export interface Counts {
  readonly documents: number
  readonly tokens: ReadonlyMap<string, number>
}

/**
 * Builds the request for the counts of these groups. The engine's own statistics include other tenants' documents and
 * must not be used.
 */
export function countBody(scoped: Scoped, groups: readonly TermGroup[]): object {
  // A relative date has no tokens, and the engine rejects an empty list of filters.
  const filters = countedTokens(groups).map((token) => ({ term: { t_all: token } }))
  return {
    size: 0,
    track_total_hits: true,
    query: scopeClause(scoped),
    ...(filters.length === 0 ? {} : { aggs: { tokens: { filters: { filters } } } }),
  }
}

/** Reads the counts from the response. */
export function countsOf(groups: readonly TermGroup[], { hits, aggregations }: SearchResponse): Counts {
  const buckets = aggregations?.tokens?.buckets ?? []
  return {
    documents: hits.total?.value ?? 0,
    tokens: new Map(countedTokens(groups).map((token, place) => [token, buckets[place]?.doc_count ?? 0])),
  }
}

/** Returns the weight of a token: rare tokens have a higher weight. */
const worthOf =
  ({ documents, tokens }: Counts): Worth =>
  (token) => {
    const known = Math.min(tokens.get(token) ?? 0, documents)
    return Math.log(1 + (documents - known + 0.5) / (known + 0.5))
  }

/** Builds the request for the `size` best documents. */
export function bestBody(matching: Matching, size = SCORED): object {
  const strict = strictClauses(matching)
  return {
    size,
    track_total_hits: false,
    sort: [{ _score: 'desc' }, { event: 'desc' }, { part: 'asc' }],
    query: {
      bool: {
        filter: [scopeClause(matching)],
        must: [anyOf(looseClauses(matching))],
        // Documents with all terms rank before documents with some terms many times.
        should: [{ constant_score: { filter: { bool: { filter: strict } }, boost: ALL_TERMS } }],
      },
    },
    aggs: { all: { filter: { bool: { filter: strict } } } },
  }
}

/** Returns one clause per term; it matches documents that certainly contain the term. */
export const strictClauses = ({ groups, inside }: Pick<Matching, 'groups' | 'inside'>): Clause[] =>
  groups.map((group) => strictClause(group, inside))

/** Returns one clause per term; it matches and scores documents that may contain the term. */
export const looseClauses = ({ groups, inside, counts }: Matching): Clause[] =>
  groups.map((group) => looseClause(group, inside, worthOf(counts)))

/** Builds the request for the newest message within the query's scope. */
export const newestBody = (query: HistoryQuery): object => ({
  size: 1,
  track_total_hits: false,
  sort: [{ event: 'desc' }],
  _source: ['message'],
  query: scopeClause({ query, bound: undefined }),
})

/**
 * Builds the request that shows which of these runs have searched the history. It reads the newest text of each run.
 * Every text after a search has the mark `searched`.
 */
export const runsBody = (tenant: string, runIds: readonly string[]): object => ({
  size: runIds.length,
  track_total_hits: false,
  sort: [{ event: 'desc' }],
  collapse: { field: 'run' },
  _source: ['run', 'searched'],
  query: { bool: { filter: [{ term: { tenant } }, { term: { role: 'assistant' } }, { terms: { run: runIds } }] } },
})

/** Returns the clause for the query's scope and filters. */
export function scopeClause({ query: { scope, filters }, bound }: Scoped): object {
  const { since, until, notRun, superseded } = filters
  const wanted: readonly (readonly [string, string | undefined])[] = [
    ['tenant', scope.tenant],
    ['session', scope.session],
    ['session', filters.session],
    ['owner', scope.owner],
    ['owner', filters.owner],
    ['role', filters.role],
    ['tool', filters.tool],
    ['status', filters.status],
    ['feedback', filters.feedback],
    ['agent', filters.agent],
  ]
  const filter: object[] = wanted.flatMap(([field, value]) =>
    value === undefined ? [] : [{ term: { [field]: value } }],
  )
  if (filters.sessions !== undefined) filter.push({ terms: { session: filters.sessions } })
  if (bound !== undefined) filter.push({ range: { event: { lt: idPrefixAt(bound + 1) } } })
  if (since !== undefined || until !== undefined) filter.push({ range: { time: timeRange(since, until) } })
  if (superseded === true) filter.push({ term: { superseded } })
  const mustNot: object[] = [
    ...(notRun === undefined ? [] : [{ term: { run: notRun } }]),
    ...(superseded === false ? [{ term: { superseded: true } }] : []),
  ]
  return { bool: { filter, ...(mustNot.length === 0 ? {} : { must_not: mustNot }) } }
}
