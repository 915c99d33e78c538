/*
 * A search for symbols finds a long output whichever of its parts has them. Part r0 has "=" and ">" apart, part r1 has "=>".
 * SQLite finds the event. Needs Java: OpenSearch.
 *
 * Suite: test/adapters/opensearch/
 */
import { Client } from '@opensearch-project/opensearch'
import { expect, test } from 'vitest'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction } from '../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryTables } from '../../functions/adapters/sqlite/history/documents/tables.ts'
import type { HistoryDocument } from '../../functions/domain/history.ts'
import type { HistoryIndex } from '../../functions/ports/history-index.ts'
import { document, IDS } from '../contracts/history-index-harness.ts'
import { withEngines } from '../engines/with-engines.ts'
import { changesOf, openSearchHarness } from '../adapters/opensearch/harness.ts'

const messageId = IDS[900] ?? ''
const parts = (first: string, second: string): HistoryDocument[] => [
  document(first, { role: 'tool_result', part: 'r0', messageId }),
  document(second, { role: 'tool_result', part: 'r1', messageId }),
]
const find = async (index: HistoryIndex): Promise<number> =>
  (await index.search({ scope: { tenant: 'acme' }, text: '=>', filters: {}, limit: 10 })).hits.length

withEngines(['opensearch'], ({ opensearch }) => {
  async function expectFound(_where: string, documents: HistoryDocument[]): Promise<void> {
    const database = openDatabase(':memory:')
    const tables = createHistoryTables(database)
    transaction(database, () => {
      tables.put((batch) => batch.replace({ tenant: 'acme', session: 's-1' }, messageId, documents))
      tables.flushPendingWords()
    })
    const history = { merge: async () => undefined }
    const sqlite = createSqliteHistoryIndex({ database, history, clock: createSystemClock() })
    const harness = openSearchHarness(opensearch, new Client({ node: opensearch, maxRetries: 0 }))
    try {
      await harness.writer.write(changesOf(documents))
      await harness.refresh()
      expect({ sqlite: await find(sqlite), opensearch: await find(harness.index) }).toEqual({
        sqlite: 1,
        opensearch: 1,
      })
    } finally {
      await harness.close()
      database.close()
    }
  }

  test.each([['the first part', parts('items.map(x => x)', 'x = 1 and y > 2')]] as const)(
    'OpenSearch finds => in %s, as SQLite does',
    expectFound,
  )
  test.fails.each([['the second part', parts('x = 1 and y > 2', 'items.map(x => x)')]] as const)(
    'OpenSearch finds => in %s, as SQLite does',
    expectFound,
  )
})
