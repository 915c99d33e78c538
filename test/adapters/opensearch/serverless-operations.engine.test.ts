import { Client } from '@opensearch-project/opensearch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOpenSearchHistoryBuilder } from '../../../functions/adapters/opensearch/history-builder.ts'
import { MAPPING } from '../../../functions/adapters/opensearch/indexed-document.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { startProxy, type Proxy } from './proxy.ts'
import { changesOf, openSearchHarness, type OpenSearchHarness } from './harness.ts'

/**
 * Operations that OpenSearch Serverless supports and this program needs. Copied row by row from the table "Supported
 * OpenSearch API operations and permissions" of the developer guide
 * (docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-genref.html). The guide's source is
 * doc_source/serverless-genref.md in github.com/awsdocs/amazon-opensearch-service-developer-guide.
 * The table lacks refresh, scroll, reindex and force merge. Ids chosen by the client require a collection of type SEARCH.
 */
const PUBLISHED: { readonly [permission: string]: readonly RegExp[] } = {
  'aoss:CreateIndex': [/^PUT \/[^/_]+$/],
  'aoss:DescribeIndex': [/^(GET|HEAD) \/[^/_]+$/, /^GET \/_resolve\/index\/[^/]+$/],
  'aoss:WriteDocument': [/^POST (\/[^/_]+)?\/_bulk$/],
  'aoss:ReadDocument': [
    /^GET \/[^/_]+\/_(mget|count)$/,
    /^GET \/[^/_]+\/_doc\/[^/]+$/,
    // The guide's examples use these requests (serverless-clients.html, Java and JavaScript).
    /^(GET|POST) \/[^/_]+\/_search$/,
  ],
  'aoss:DeleteIndex': [/^DELETE \/[^/_]+$/],
  'aoss:CreateCollectionItems': [/^POST \/_aliases$/],
  // The guide's row for this operation covers describing aliases. The guide's source does not list the requests.
  'aoss:DescribeCollectionItems': [/^GET \/_alias\/[^/]+$/],
}

withEngines(['opensearch'], ({ opensearch }) => {
  describe('the OpenSearch adapter', () => {
    let proxy: Proxy
    let harness: OpenSearchHarness
    beforeAll(async () => {
      proxy = await startProxy(opensearch)
      harness = openSearchHarness(opensearch, new Client({ node: proxy.endpoint, maxRetries: 0 }))
      await useEverything(harness)
    })
    afterAll(async () => {
      await harness.close()
      await proxy.close()
    })

    test('sends only operations that OpenSearch Serverless publishes', () => {
      const asked = new Set(proxy.requests.map(({ method, path }) => `${method} ${path}`))
      expect(asked.size).toBeGreaterThan(8)
      for (const operation of asked)
        expect(
          Object.values(PUBLISHED)
            .flat()
            .some((published) => published.test(operation)),
          operation,
        ).toBe(true)
    })

    test('sends no script, suggester, join or query parameter', () => {
      for (const { path, body } of proxy.requests) {
        expect(path).not.toContain('?')
        expect(body).not.toMatch(/"(script|script_score|suggest|rescore|has_child|percolate)"/)
      }
    })

    test('creates indexes from their mapping alone: no settings, no plugin analyzer', () => {
      const created = proxy.requests.filter(({ method }) => method === 'PUT')
      expect(created.length).toBeGreaterThanOrEqual(2)
      for (const { body } of created) expect(JSON.parse(body)).toEqual({ mappings: MAPPING })
    })
  })

  test('an engine that lets an older version of a document replace a newer version is refused', async () => {
    const proxy = await startProxy(opensearch)
    const harness = openSearchHarness(opensearch, new Client({ node: proxy.endpoint, maxRetries: 0 }))
    proxy.decide(({ path, body }) =>
      path === '/_bulk' && body.includes('probe')
        ? { status: 200, body: JSON.stringify({ items: [201, 200, 200].map((status) => ({ index: { status } })) }) }
        : 'pass',
    )
    await expect(harness.writer.write(changesOf([document()]))).rejects.toMatchObject({
      code: 'search_unavailable',
      message: expect.stringContaining('external versions'),
    })
    await harness.close()
    await proxy.close()
  })
})

async function useEverything({ client, alias, index, writer }: OpenSearchHarness): Promise<void> {
  const scope = { tenant: 'acme' }
  const documents = Array.from({ length: 60 }, (_, number) => document(`some words, number ${number}`))
  await writer.write(changesOf(documents))
  const clock = {
    now: () => Date.now() * 20,
    sleep: (ms: number) => new Promise<void>((done) => setTimeout(done, ms / 20)),
  }
  const builder = createOpenSearchHistoryBuilder({ client, alias, clock, indexDeadLetters: { send: async () => {} } })
  const build = await builder.begin()
  await build.write(changesOf(documents))
  await build.publish()
  await (await builder.begin()).abandon()
  for (const text of ['some words', 'ome', 'wrods unknownword', '???', '']) {
    const query = { scope, text, filters: { role: 'user', since: 1 } as const, limit: 5 }
    let page = await index.search(query)
    for (let more = 0; page.next !== undefined && more < 12; more++)
      page = await index.search({ ...query, after: page.next })
  }
  await index.locate(scope, documents[0]?.messageId ?? '')
}

const ids = nextIds(undefined, 1_750_000_000_000, 100)

function document(text = 'words'): HistoryDocument {
  return {
    tenant: 'acme',
    session: 's-1',
    runId: 'run-1',
    messageId: ids.shift() ?? '',
    part: 'u',
    role: 'user',
    agent: 'default',
    text,
    time: 1_750_000_000_000,
  }
}
