import type { HistoryQuery } from '../../domain/history.ts'
import type { SearchQuery } from '../../search/query.ts'
import type { Source } from './indexed-document.ts'
import { anyOf, countedTokens, looseClause, strictClause, type Inside, type TermGroup } from './term-groups.ts'

/** What a search answers, as far as it is read. */
export interface SearchResponse {
  readonly timed_out: boolean
  readonly _shards: { readonly failed: number }
  readonly hits: { readonly hits: readonly Found[] }
  readonly aggregations?: {
    readonly everything: { readonly scope: { readonly doc_count: number } }
    readonly tokens: { readonly buckets: readonly { readonly doc_count: number }[] }
    readonly all: { readonly doc_count: number }
    readonly newest: { readonly hits: { readonly hits: readonly { readonly _source: { readonly event: string } }[] } }
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
 * Ways to match, from strict to wide: all terms, any of them, any of them also inside of words where they are unknown, and where
 * they are rare.
 */
export type Stage = 0 | 1 | 2 | 3

export interface Matching {
  readonly query: HistoryQuery
  readonly groups: readonly TermGroup[]
  readonly inside: Inside
}

/**
 * The best documents, with the exact frequencies that a plan needs, in one request. `within` holds the documents, not the
 * frequencies, to these events.
 */
export function bestBody(matching: Matching, within?: readonly string[]): object {
  const { query, groups, inside } = matching
  const scope = scopeClause(query)
  const strict = groups.map((group) => strictClause(group, inside))
  return {
    size: within?.length === 0 ? 0 : SCORED,
    track_total_hits: false,
    sort: [{ _score: 'desc' }, { event: 'desc' }],
    query: {
      bool: {
        filter: [scope],
        must: [anyOf(groups.map((group) => looseClause(group, inside)))],
        // What holds all terms comes before what holds some of them often.
        should: [{ constant_score: { filter: { bool: { filter: strict } }, boost: ALL_TERMS } }],
      },
    },
    ...(within === undefined ? {} : { post_filter: { terms: { print: within } } }),
    aggs: {
      everything: { global: {}, aggs: { scope: { filter: scope } } },
      tokens: { filters: { filters: countedTokens(groups).map((token) => ({ term: { t_all: token } })) } },
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
  const { query, groups, inside } = matching
  const matched =
    stage === 0
      ? groups.map((group) => strictClause(group, inside))
      : [anyOf(groups.map((group) => looseClause(group, inside)))]
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
    ['agent', filters.agent],
  ]
  const filter: object[] = wanted.flatMap(([field, value]) =>
    value === undefined ? [] : [{ term: { [field]: value } }],
  )
  if (since !== undefined || until !== undefined) filter.push({ range: { time: timeRange(since, until) } })
  return { bool: { filter, ...(notRun === undefined ? {} : { must_not: [{ term: { run: notRun } }] }) } }
}

/** Any numbers will do as bounds; the engine wants whole ones of 64 bits. */
function timeRange(since: number | undefined, until: number | undefined): object {
  const whole = (time: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.max(Number.MIN_SAFE_INTEGER, time))
  return {
    ...(since === undefined ? {} : { gte: Math.ceil(whole(since)) }),
    ...(until === undefined ? {} : { lte: Math.floor(whole(until)) }),
  }
}
