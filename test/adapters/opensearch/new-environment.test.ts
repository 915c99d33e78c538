import { expect, test } from 'vitest'
import { createHistoryAliases } from '../../../functions/adapters/opensearch/history-aliases.ts'
import { createOpenSearchHistoryIndex } from '../../../functions/adapters/opensearch/history-index.ts'
import { createSend } from '../../../functions/adapters/opensearch/requests.ts'
import type { SearchClient } from '../../../functions/adapters/opensearch/requests.ts'
import { createManualClock } from '../../contracts/stores.ts'

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: object
}

/** Creates a client of OpenSearch without an index. `status`: status of all responses to reads. */
function withoutIndex(status: number): { readonly client: SearchClient; readonly sent: Sent[] } {
  const sent: Sent[] = []
  const request: SearchClient['transport']['request'] = async (one) => {
    sent.push(one)
    if (one.path === '/_bulk')
      return { statusCode: 200, body: { items: [201, 409, 200].map((code) => ({ index: { status: code } })) } }
    if (one.method === 'PUT' || one.path === '/_aliases') return { statusCode: 200, body: {} }
    return { statusCode: status, body: {} }
  }
  return { client: { transport: { request }, close: async () => {} }, sent }
}

const scope = { tenant: 'acme' }

test('a search before the first write finds nothing and needs only the permission to search', async () => {
  const { client, sent } = withoutIndex(404)
  const index = createOpenSearchHistoryIndex({ client, alias: 'history' })
  expect(await index.search({ scope, text: 'blue crate', filters: {}, limit: 10 })).toEqual({ hits: [] })
  expect(await index.locate(scope, '01K00000000000000000000000')).toBeUndefined()
  expect(new Set(sent.map(({ method, path }) => `${method} ${path}`))).toEqual(new Set(['POST /history/_search']))
})

test.each([403, 429, 500, 503])('a search that gets status %i fails and returns no empty page', async (status) => {
  const index = createOpenSearchHistoryIndex({ client: withoutIndex(status).client, alias: 'history' })
  await expect(index.search({ scope, text: 'blue crate', filters: {}, limit: 10 })).rejects.toMatchObject({
    code: 'search_unavailable',
  })
})

test('a domain’s index has replicas for its zones and logs slow queries; a collection gets no settings', async () => {
  for (const copies of [undefined, 0, 2]) {
    const { client, sent } = withoutIndex(404)
    const aliases = createHistoryAliases({
      send: createSend(client),
      alias: 'history',
      copies,
      clock: createManualClock(),
    })
    await aliases.ensure()
    const made = sent.find(({ method }) => method === 'PUT')?.body as { settings?: { index: object } }
    if (copies === undefined) expect(made).not.toHaveProperty('settings')
    else
      expect(made.settings?.index).toMatchObject({
        number_of_replicas: copies,
        'search.slowlog.threshold.query.warn': '2s',
        'indexing.slowlog.source': 'false',
      })
  }
})
