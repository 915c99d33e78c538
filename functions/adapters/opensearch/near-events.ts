import type { HistoryQuery } from '../../domain/history.ts'
import { WINDOW_DOCUMENTS, WINDOW_EVENTS } from '../../search/ranking/context.ts'
import type { Source } from './indexed-document.ts'
import { scopeClause, type Found, type NearBucket, type SearchResponse } from './search-bodies.ts'

/**
 * Builds the request for the events around these hits. Only one filter of the search applies to these events: the
 * filter that excludes the searching run.
 */
export function nearBody(query: HistoryQuery, bound: number, hits: readonly Source[]): object {
  const { notRun } = query.filters
  const scoped = { query: { ...query, filters: notRun === undefined ? {} : { notRun } }, bound }
  const sessions = [...new Set(hits.map(({ session }) => session))]
  const side = (order: 'asc' | 'desc', size: number): object => ({
    filters: {
      filters: hits.map(({ session, event }) => ({
        bool: {
          filter: [{ term: { session } }, { range: { event: order === 'asc' ? { gte: event } : { lt: event } } }],
        },
      })),
    },
    aggs: {
      // A session may have many events. A map of the matching events is cheaper than global ordinals.
      events: {
        terms: { field: 'event', size, order: { _key: order }, execution_hint: 'map' },
        aggs: { documents: { top_hits: { size: WINDOW_DOCUMENTS, sort: [{ part: 'asc' }] } } },
      },
    },
  })
  return {
    size: 0,
    track_total_hits: false,
    query: { bool: { filter: [scopeClause(scoped), { terms: { session: sessions } }] } },
    aggs: { before: side('desc', WINDOW_EVENTS), after: side('asc', WINDOW_EVENTS + 1) },
  }
}

/**
 * Reads the windows of `count` hits from the response. Each window has the documents of its events, in the order of the
 * log.
 */
export function windowsIn({ aggregations }: SearchResponse, count: number): Found[][][] {
  const documentsIn = (bucket: NearBucket | undefined): Found[][] =>
    (bucket?.events.buckets ?? []).map(({ documents }) => [...documents.hits.hits])
  return Array.from({ length: count }, (_, place) => [
    ...documentsIn(aggregations?.before?.buckets[place]).toReversed(),
    ...documentsIn(aggregations?.after?.buckets[place]),
  ])
}
