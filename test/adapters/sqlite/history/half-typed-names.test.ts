/* Evidence, search: Over all pages of a search, both indexes find prefixes, inner parts of words, and symbols. */
/* A part of a name, such as "node.j" or "oo-bar", finds the texts that contain the name, as in OpenSearch. */
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../../../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryTables } from '../../../../functions/adapters/sqlite/history/documents/tables.ts'
import { document } from '../../../contracts/history-index-harness.ts'

async function expectFound(name: string, text: string): Promise<void> {
  const database = openDatabase(':memory:')
  const tables = createHistoryTables(database)
  const one = document(`the ${name} server`)
  transaction(database, () => {
    tables.put((batch) => batch.replace({ tenant: one.tenant, session: one.session }, one.messageId, [one]))
    tables.flushPendingWords()
  })
  const index = createSqliteHistoryIndex({
    database,
    history: { merge: async () => undefined },
    clock: createSystemClock(),
  })
  const { hits } = await index.search({ scope: { tenant: 'acme' }, text, filters: {}, limit: 5 })
  expect(hits).toHaveLength(1)
  database.close()
}

test.each([
  ['node.js', 'node.js'],
  ['foo-bar', 'foo-ba'],
  ['node.js', 'node.j'],
  ['foo-bar', 'oo-bar'],
  ['api/v1', 'pi/v1'],
  ['src/index.ts', 'src/index.t'],
  ['history_index', 'istory_index'],
  ['https://example.com/a-b', 'example.com/a-'],
  ['v1.22.3', '1.22.'],
])('a text with %s is found by the query %s', expectFound)
