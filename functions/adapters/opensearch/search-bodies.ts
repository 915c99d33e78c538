import type { HistoryQuery } from '../../domain/history.ts'
import type { SearchQuery } from '../../search/query/query.ts'
import type { Source } from './indexed-document.ts'
import {
  anyOf,
  countedTokens,
  looseClause,
  strictClause,
  type Inside,
  type TermGroup,
  type Worth,
} from './term-groups.ts'

/** The parts of a search's response that are read. */
export interface SearchResponse {
  readonly timed_out: boolean
  readonly _shards: { readonly failed: number }
  readonly hits: { readonly hits: readonly Found[]; readonly total?: { readonly value: number } }
  readonly aggregations?: {
    readonly tokens?: { readonly buckets: readonly { readonly doc_count: number }[] }
    readonly all?: { readonly doc_count: number }
    readonly newest?: { readonly hits: { readonly hits: readonly { readonly _source: { readonly event: string } }[] } }
  }
}
export interface Found {
  readonly _id: string
  readonly _source: Source
}

/** Documents that are read and scored. */
const SCORED = 100
/** Added for holding all terms: about what one rare word scores. */
const ALL_TERMS = 10

/**
 * Ways to match, from strict to wide: all terms; any of them; any of them, also inside words if they are unknown; the same if
 * they are rare.
 */
export type Stage = 0 | 1 | 2 | 3

export interface Matching {
  readonly query: HistoryQuery
  readonly groups: readonly TermGroup[]
  readonly inside: Inside
  readonly counts: Counts
}

/** What a search may see: how many documents, and how many of them have a token. */
export interface Counts {
  readonly documents: number
  readonly tokens: ReadonlyMap<string, number>
}

/** Asks for the counts of these groups. The engine's own statistics cover everybody's documents and must not be used. */
export function countBody(query: HistoryQuery, groups: readonly TermGroup[]): object {
  return {
    size: 0,
    track_total_hits: true,
    query: scopeClause(query),
    aggs: { tokens: { filters: { filters: countedTokens(groups).map((token) => ({ term: { t_all: token } })) } } },
  }
}

/** The counts from the response. */
export function countsOf(groups: readonly TermGroup[], { hits, aggregations }: SearchResponse): Counts {
  const buckets = aggregations?.tokens?.buckets ?? []
  return {
    documents: hits.total?.value ?? 0,
    tokens: new Map(countedTokens(groups).map((token, place) => [token, buckets[place]?.doc_count ?? 0])),
  }
}

/** How much a token says: rare ones say more. */
const worthOf =
  ({ documents, tokens }: Counts): Worth =>
  (token) => {
    const known = Math.min(tokens.get(token) ?? 0, documents)
    return Math.log(1 + (documents - known + 0.5) / (known + 0.5))
  }

/** The best documents, `size` of them; `within` holds them to these events. */
export function bestBody(
  { query, groups, inside, counts }: Matching,
  { within, size = SCORED }: { readonly within?: readonly string[]; readonly size?: number } = {},
): object {
  const strict = groups.map((group) => strictClause(group, inside))
  const worth = worthOf(counts)
  return {
    size: within?.length === 0 ? 0 : size,
    track_total_hits: false,
    sort: [{ _score: 'desc' }, { event: 'desc' }, { part: 'asc' }],
    query: {
      bool: {
        filter: [scopeClause(query)],
        must: [anyOf(groups.map((group) => looseClause(group, inside, worth)))],
        // What holds all terms comes before what holds some of them often.
        should: [{ constant_score: { filter: { bool: { filter: strict } }, boost: ALL_TERMS } }],
      },
    },
    ...(within === undefined ? {} : { post_filter: { terms: { print: within } } }),
    aggs: {
      all: { filter: { bool: { filter: strict } } },
      newest: { top_hits: { size: 1, sort: [{ event: 'desc' }], _source: ['event'] } },
    },
  }
}

/** One document for each further event that matches, newest first. */
export function tailBody(
  matching: Matching,
  stage: Stage,
  page: { readonly below: string; readonly without: readonly string[]; readonly limit: number },
): object {
  const { query, groups, inside, counts } = matching
  const matched =
    stage === 0
      ? groups.map((group) => strictClause(group, inside))
      : [anyOf(groups.map((group) => looseClause(group, inside, worthOf(counts))))]
  return {
    ...newestFirst(page.limit),
    query: {
      bool: {
        filter: [scopeClause(query), { range: { event: { lt: page.below } } }],
        must: matched,
        must_not: [{ terms: { print: page.without } }],
      },
    },
  }
}

/** What has all these tokens, newest first, for queries without words. */
export function symbolsBody(
  query: HistoryQuery,
  parsed: SearchQuery,
  below: string | undefined,
  limit: number,
): object {
  const older = below === undefined ? [] : [{ range: { event: { lt: below } } }]
  const tokens = parsed.symbols.map((token) => ({ term: { t_all: token } }))
  return { ...newestFirst(limit), query: { bool: { filter: [scopeClause(query), ...older, ...tokens] } } }
}

/** The newest document of each of these runs that says whether the history was searched: all that was said after a search does. */
export const runsBody = (tenant: string, runIds: readonly string[]): object => ({
  ...newestFirst(runIds.length),
  collapse: { field: 'run' },
  _source: ['run', 'searched'],
  query: { bool: { filter: [{ term: { tenant } }, { term: { role: 'assistant' } }, { terms: { run: runIds } }] } },
})

const newestFirst = (size: number): object => ({
  size,
  track_total_hits: false,
  sort: [{ event: 'desc' }, { _score: 'desc' }],
  collapse: { field: 'event' },
})

/** Whose documents, and which of them. */
function scopeClause({ scope, filters }: HistoryQuery): object {
  const { since, until, notRun } = filters
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
  if (since !== undefined || until !== undefined) filter.push({ range: { time: timeRange(since, until) } })
  return { bool: { filter, ...(notRun === undefined ? {} : { must_not: [{ term: { run: notRun } }] }) } }
}

/** Bounds may be any numbers; the engine wants integers of 64 bits. */
function timeRange(since: number | undefined, until: number | undefined): object {
  const whole = (time: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.max(Number.MIN_SAFE_INTEGER, time))
  return {
    ...(since === undefined ? {} : { gte: Math.ceil(whole(since)) }),
    ...(until === undefined ? {} : { lte: Math.floor(whole(until)) }),
  }
}
