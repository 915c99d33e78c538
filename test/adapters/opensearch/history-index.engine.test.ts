/* Evidence, search: A search result does not change by a byte when other tenants or owners store texts. */
import { Client } from '@opensearch-project/opensearch'
import { expect } from 'vitest'
import { historyIndexContract } from '../../contracts/history-index.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { startProxy } from './proxy.ts'
import { changesOf, openSearchHarness } from './harness.ts'

withEngines(['opensearch'], ({ opensearch }) => {
  historyIndexContract('opensearch', async () => {
    const proxy = await startProxy(opensearch)
    const harness = openSearchHarness(opensearch, new Client({ node: proxy.endpoint, maxRetries: 0 }))
    return {
      index: harness.index,
      async store(documents) {
        const outcomes = await harness.writer.write(changesOf(documents))
        expect(outcomes.every(({ done }) => done)).toBe(true)
        await harness.refresh()
      },
      breakDown: async () => proxy.decide(() => ({ status: 503 })),
      stop: async () => {
        proxy.decide(() => 'pass')
        await harness.close()
        await proxy.close()
      },
    }
  })
})
