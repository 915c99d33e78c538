import { Client } from '@opensearch-project/opensearch'
import { expect } from 'vitest'
import { historyIndexContract } from '../../contracts/history-index.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { startProxy } from './proxy.ts'
import { changesOf, openSearchStage } from './stage.ts'

withEngines(['opensearch'], ({ opensearch }) => {
  historyIndexContract('opensearch', async () => {
    const proxy = await startProxy(opensearch)
    const stage = openSearchStage(opensearch, new Client({ node: proxy.endpoint, maxRetries: 0 }))
    return {
      index: stage.index,
      async store(documents) {
        const outcomes = await stage.writer.write(changesOf(documents))
        expect(outcomes.every(({ done }) => done)).toBe(true)
        await stage.refresh()
      },
      breakDown: async () => proxy.decide(() => ({ status: 503 })),
      stop: async () => {
        proxy.decide(() => 'pass')
        await stage.close()
        await proxy.close()
      },
    }
  })
})
