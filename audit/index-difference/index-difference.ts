import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction } from '../../functions/adapters/sqlite/database.ts'
import { createHistoryTables } from '../../functions/adapters/sqlite/history/documents/tables.ts'
import { createSqliteHistoryIndex } from '../../functions/adapters/sqlite/history/search/history-index.ts'
import type { HistoryDocument, HistoryHit, HistoryQuery } from '../../functions/domain/history.ts'
import type { HistoryIndex } from '../../functions/ports/history-index.ts'
import { changesOf, openSearchHarness } from '../../test/adapters/opensearch/harness.ts'
import { readOptions, wholeNumber } from '../../test/command-options.ts'
import { startEngine } from '../../test/engines/engines.ts'
import { createDice } from '../dice.ts'
import { randomDocuments, randomQuery } from './random-history.ts'

const USAGE = `Searches random documents on OpenSearch and on SQLite, and prints where they differ.

  npx node audit/index-difference/index-difference.ts [--seed <number>] [--documents <number>] [--queries <number>]

SET: hits that one has and the other has not. Those that only SQLite has are what to look at; OpenSearch matches more loosely.
ORDER: the same hits in another order. DOUBLE: a hit comes twice. ERROR: a search failed. Exit code 1: DOUBLE, ERROR, or hits that
only SQLite has. OpenSearch is started, or the one that OPENSEARCH_ENDPOINT names.
`
const MAX_PAGES = 300
const MAX_ORDERS_SHOWN = 12

const settings = readOptions(
  USAGE,
  {
    seed: { type: 'string', default: '2' },
    documents: { type: 'string', default: '700' },
    queries: { type: 'string', default: '150' },
  },
  ({ seed, documents, queries }) => ({
    seed: wholeNumber('seed', seed),
    documents: wholeNumber('documents', documents, 1),
    queries: wholeNumber('queries', queries, 1),
  }),
)
const counts = { sets: 0, onlySqlite: 0, orders: 0, doubled: 0, errors: 0 }

const keyOf = ({ messageId, role }: Pick<HistoryHit, 'messageId' | 'role'>): string => `${messageId} ${role}`

/** Returns the keys of all hits of a query. Reads page after page. */
async function search(index: HistoryIndex, query: HistoryQuery): Promise<string[]> {
  const keys: string[] = []
  let after: string | undefined
  for (let page = 0; page === 0 || after !== undefined; page++) {
    if (page > MAX_PAGES) throw new Error('the pages do not end')
    const found = await index.search(after === undefined ? query : { ...query, after })
    keys.push(...found.hits.map(keyOf))
    after = found.next
  }
  const doubled = keys.length - new Set(keys).size
  if (doubled > 0) console.log(`DOUBLE ${JSON.stringify(query)}: ${doubled}`)
  counts.doubled += doubled
  return keys
}

function compare(query: HistoryQuery, opensearch: readonly string[], sqlite: readonly string[], texts: Texts): void {
  const onlyOpensearch = opensearch.filter((key) => !sqlite.includes(key))
  const onlySqlite = sqlite.filter((key) => !opensearch.includes(key))
  counts.onlySqlite += onlySqlite.length
  if (onlyOpensearch.length + onlySqlite.length > 0) {
    counts.sets++
    const some = (keys: readonly string[]): string =>
      `${keys.length} ${keys
        .slice(0, 2)
        .map((key) => texts.get(key)?.slice(0, 90))
        .join(' ')}`
    console.log(`SET ${JSON.stringify(query)} OpenSearch ${some(onlyOpensearch)} | SQLite ${some(onlySqlite)}`)
  } else if (opensearch.join() !== sqlite.join() && ++counts.orders < MAX_ORDERS_SHOWN) {
    const place = opensearch.findIndex((key, index) => key !== sqlite[index])
    console.log(`ORDER ${JSON.stringify(query)} from hit ${place} of ${opensearch.length}`)
  }
}

type Texts = ReadonlyMap<string, string>

/** Opens a database in memory with these documents. */
function openSqlite(documents: readonly HistoryDocument[]) {
  const database = openDatabase(':memory:')
  const tables = createHistoryTables(database)
  for (const document of documents) {
    const { tenant, session, messageId } = document
    transaction(database, () => {
      tables.put((batch) => batch.replace({ tenant, session }, messageId, [document]))
      tables.flushPendingWords()
    })
  }
  const history = { merge: async () => undefined }
  const index = createSqliteHistoryIndex({ database, history, clock: createSystemClock() })
  return { index, close: () => database.close() }
}

const dice = createDice(settings.seed)
const documents = randomDocuments(dice, settings.documents)
const texts = new Map(documents.map((one) => [keyOf(one), JSON.stringify(`${one.text} || ${one.call ?? ''}`)]))
const engine = await startEngine('opensearch')
const opensearch = openSearchHarness(engine.endpoint)
const sqlite = openSqlite(documents)
try {
  const outcomes = await opensearch.writer.write(changesOf(documents))
  if (outcomes.some(({ done }) => !done) || opensearch.deadLettered.length > 0) throw new Error('a write failed')
  await opensearch.refresh()
  for (let count = 0; count < settings.queries; count++) {
    const query = randomQuery(dice, settings.documents)
    try {
      compare(query, await search(opensearch.index, query), await search(sqlite.index, query), texts)
    } catch (error) {
      counts.errors++
      console.log(`ERROR ${JSON.stringify(query)}: ${String(error)}`)
    }
  }
} finally {
  await opensearch.close()
  sqlite.close()
  await engine.stop()
}
console.log(`seed ${settings.seed}: ${settings.queries} queries, ${JSON.stringify(counts)}`)
if (counts.doubled + counts.errors + counts.onlySqlite > 0) process.exitCode = 1
