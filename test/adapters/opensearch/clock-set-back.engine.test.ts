/* Evidence, search: No write creates an OpenSearch index, even after a clock was set back. */
/* A search finds documents that are written after a rebuild, even if the writer's clock was set back during the rebuild. */
import { Client } from '@opensearch-project/opensearch'
import { expect, test } from 'vitest'
import { createOpenSearchHistoryBuilder } from '../../../functions/adapters/opensearch/history-builder.ts'
import { createOpenSearchHistoryWriter } from '../../../functions/adapters/opensearch/history-writer.ts'
import { document } from '../../contracts/history-index-harness.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { changesOf, openSearchHarness } from './harness.ts'

const SPEED = 20

withEngines(['opensearch'], ({ opensearch }) => {
  async function expectFound(_how: string, back: number): Promise<void> {
    const harness = openSearchHarness(opensearch, new Client({ node: opensearch, maxRetries: 0 }))
    let offset = 0
    const fast = {
      now: () => Date.now() * SPEED,
      sleep: (ms: number) => new Promise<void>((done) => setTimeout(done, ms / SPEED)),
    }
    const indexDeadLetters = { send: async () => {} }
    const clock = { ...fast, now: () => fast.now() + offset }
    const writer = createOpenSearchHistoryWriter({ ...harness, clock, indexDeadLetters })
    try {
      const [one, two] = [document('walrus one'), document('walrus two')]
      await writer.write(changesOf([one]))
      offset = -back
      const build = await createOpenSearchHistoryBuilder({ ...harness, clock: fast, indexDeadLetters }).begin()
      await build.write(changesOf([one]))
      await build.publish()
      const outcomes = await writer.write(changesOf([two]))
      await harness.refresh()
      const found = await harness.index.search({ scope: { tenant: 'acme' }, text: 'walrus', filters: {}, limit: 10 })
      const indexes = Object.keys((await harness.client.indices.get({ index: `${harness.alias}*` })).body)
      expect({ done: outcomes.map(({ done }) => done), hits: found.hits.length, indexes: indexes.length }).toEqual({
        done: [true],
        hits: 2,
        indexes: 1,
      })
    } finally {
      await harness.close()
    }
  }

  test.each([
    ['that continues', 0],
    ['that is set back by an hour', 3_600_000],
  ] as const)('a search finds documents of a writer with a clock %s', expectFound)
})
