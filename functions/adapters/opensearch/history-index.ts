import { TooltrailError } from '../../domain/errors.ts'
import { parseQuery } from '../../search/query.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HistoryIndex } from '../../ports/history-index.ts'
import { createHistoryAliases } from './history-aliases.ts'
import { readCursor } from './history-cursor.ts'
import { firstPage, laterPage } from './history-pages.ts'
import { ask, createSend, OpenSearchError } from './requests.ts'
import type { SearchClient } from './requests.ts'
import type { SearchResponse } from './search-bodies.ts'

interface Dependencies {
  readonly client: SearchClient
  /** What is searched; the indexes behind it come and go. */
  readonly alias: string
  readonly clock: Clock
}

/** Searches an OpenSearch index that the stream of the table keeps: what was just written is found a little later. */
export function createOpenSearchHistoryIndex({ client, alias, clock }: Dependencies): HistoryIndex {
  const send = createSend(client)
  const aliases = createHistoryAliases({ send, alias, clock })

  const searchOnce = async (body: object): Promise<SearchResponse> => {
    const response = await ask<SearchResponse>(send, { method: 'POST', path: `/${alias}/_search`, body })
    // A part of the answer would pass for the whole.
    if (response.timed_out || response._shards.failed > 0)
      throw new Error(`${response._shards.failed} shards did not response`)
    return response
  }
  /** Where nothing was ever written there is no index yet: it is made, and is empty. */
  const search = async (body: object): Promise<SearchResponse> => {
    try {
      return await searchOnce(body)
    } catch (error) {
      if (!(error instanceof OpenSearchError) || error.status !== 404) throw error
      await aliases.ensure()
      return searchOnce(body)
    }
  }

  return {
    async search(query) {
      const parsed = parseQuery(query.text)
      const cursor = query.after === undefined ? undefined : readCursor(query, query.after)
      const asked = { query, parsed, send: search }
      return available(() => (cursor === undefined ? firstPage(asked) : laterPage(asked, cursor)))
    },
    async locate(scope, messageId) {
      const terms = { message: messageId, tenant: scope.tenant, owner: scope.owner, session: scope.session }
      const filter = Object.entries(terms).flatMap(([field, value]) =>
        value === undefined ? [] : [{ term: { [field]: value } }],
      )
      const body = { size: 1, _source: ['session'], query: { bool: { filter } } }
      return available(async () => (await search(body)).hits.hits[0]?._source.session)
    },
  }
}

async function available<Response>(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    throw new TooltrailError('search_unavailable', 'the history index cannot be read now: try again later', {
      retryable: true,
      cause: error,
    })
  }
}
