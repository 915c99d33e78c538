/*
 * The pages of a search show every event that the first page matched, also where the query's word begins other words or is inside of
 * them. 150 messages contain "deploy"; SQLite shows all 150 for "deploy", "depl" and "ploy". Needs Java: OpenSearch.
 *
 * Suite: test/adapters/opensearch/
 */
import { Client } from '@opensearch-project/opensearch'
import { expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { HistoryHit } from '../../functions/domain/history.ts'
import { document } from '../contracts/history-index-harness.ts'
import { withEngines } from '../engines/with-engines.ts'
import { changesOf, openSearchHarness } from '../adapters/opensearch/harness.ts'

withEngines(['opensearch'], ({ opensearch }) => {
  async function expectEveryMatch(text: string, limit: number): Promise<void> {
    const harness = openSearchHarness(opensearch, new Client({ node: opensearch, maxRetries: 0 }))
    try {
      const documents = Array.from({ length: 150 }, (_, index) => document(`deploy number ${index}`))
      await harness.writer.write(changesOf(documents))
      await harness.refresh()
      const hits: HistoryHit[] = []
      const sizes: number[] = []
      let after: string | undefined
      do {
        const query = { scope: { tenant: 'acme' }, text, filters: {}, limit, ...definedFields({ after }) }
        const page = await harness.index.search(query)
        hits.push(...page.hits)
        sizes.push(page.hits.length)
        after = page.next
      } while (after !== undefined)
      expect({ events: new Set(hits.map(({ messageId }) => messageId)).size, sizes }).toMatchObject({ events: 150 })
    } finally {
      await harness.close()
    }
  }

  test.each([['deploy', 10]] as const)('all pages of %s, %i hits a page, show 150 events', expectEveryMatch)
  test.fails.each([
    ['depl', 50],
    ['ploy', 10],
  ] as const)('all pages of %s, %i hits a page, show 150 events', expectEveryMatch)
})
