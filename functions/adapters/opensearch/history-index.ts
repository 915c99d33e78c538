import { TooltrailError } from '../../domain/errors.ts'
import { parseQuery } from '../../search/query/query.ts'
import type { HistoryIndex } from '../../ports/history-index.ts'
import { readPlace } from './history-cursor.ts'
import { ask, createSend, OpenSearchError } from './requests.ts'
import type { SearchClient } from './requests.ts'
import type { SearchResponse } from './search-bodies.ts'

interface Dependencies {
  readonly client: SearchClient
  /** The alias that is searched. The indexes behind it change. */
  readonly alias: string
}

/** Creates a search of an OpenSearch index that follows the table's stream. Recent writes are found with a delay. */
export function createOpenSearchHistoryIndex({ client, alias }: Dependencies): HistoryIndex {
  const send = createSend(client)

  const search = async (body: object): Promise<SearchResponse> => {
    const response = await ask<SearchResponse>(send, { method: 'POST', path: `/${alias}/_search`, body })
    // An incomplete response must not count as complete.
    if (response.timed_out || response._shards.failed > 0)
      throw new Error(`${response._shards.failed} shards did not respond`)
    return response
  }
  return {
    async search(query) {
      const parsed = parseQuery(query.text, query.filters.role, query.asked)
      const place = query.after === undefined ? undefined : readPlace(query, query.after)
      // Loaded on demand, so that functions start faster.
      const { findPage } = await import('./history-pages.ts')
      return available({ hits: [] }, () => findPage({ query, parsed, send: search }, place))
    },
    async locate(scope, messageId) {
      const terms = { message: messageId, tenant: scope.tenant, owner: scope.owner, session: scope.session }
      const filter = Object.entries(terms).flatMap(([field, value]) =>
        value === undefined ? [] : [{ term: { [field]: value } }],
      )
      const body = { size: 1, _source: ['session'], query: { bool: { filter } } }
      return available(undefined, async () => (await search(body)).hits.hits[0]?._source.session)
    },
    async hasSuperseded(tenant) {
      const filter = [{ term: { tenant } }, { term: { superseded: true } }]
      const body = { size: 1, _source: false, track_total_hits: false, query: { bool: { filter } } }
      return available(false, async () => (await search(body)).hits.hits.length > 0)
    },
  }
}

/** Returns `nothing` if there is no index yet. The writer creates it with the first write. */
async function available<Result>(nothing: Result, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OpenSearchError && error.status === 404) return nothing
    throw new TooltrailError('search_unavailable', 'the history index cannot be read now: try again later', {
      retryable: true,
      cause: error,
    })
  }
}
