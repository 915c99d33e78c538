import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction } from '../../functions/adapters/sqlite/database.ts'
import { createHistoryTables } from '../../functions/adapters/sqlite/history/documents/tables.ts'
import { createSqliteHistoryIndex } from '../../functions/adapters/sqlite/history/search/history-index.ts'
import type { HistoryDocument } from '../../functions/domain/history.ts'
import type { HistoryIndex } from '../../functions/ports/history-index.ts'
import { changesOf, openSearchHarness } from '../../test/adapters/opensearch/harness.ts'
import { messageName, type Question } from './question-sets.ts'

/** A search that answers questions with names of messages, best first. */
export interface Engine {
  readonly name: string
  ask(question: Question, limit: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** Number of messages that are written in one transaction or request. */
const AT_ONCE = 500

/** Opens Tooltrail's SQLite index with these documents. */
export async function openSqlite(documents: readonly HistoryDocument[]): Promise<Engine> {
  const database = openDatabase(':memory:')
  const tables = createHistoryTables(database)
  const changes = changesOf(documents)
  for (let start = 0; start < changes.length; start += AT_ONCE)
    transaction(database, () => {
      tables.put((batch) => {
        for (const { key, messageId, documents: parts } of changes.slice(start, start + AT_ONCE))
          batch.replace(key, messageId, parts)
      })
      tables.flushPendingWords()
    })
  const history = { merge: async () => undefined }
  const index = createSqliteHistoryIndex({ database, history, clock: createSystemClock() })
  return { name: 'Tooltrail, SQLite', ask: asking(index), close: async () => database.close() }
}

/** Opens Tooltrail's OpenSearch index with these documents, in a running engine. */
export async function openOpenSearch(endpoint: string, documents: readonly HistoryDocument[]): Promise<Engine> {
  const harness = openSearchHarness(endpoint)
  const changes = changesOf(documents)
  for (let start = 0; start < changes.length; start += AT_ONCE) {
    const outcomes = await harness.writer.write(changes.slice(start, start + AT_ONCE))
    if (!outcomes.every(({ done }) => done)) throw new Error('OpenSearch did not store every message')
  }
  await harness.refresh()
  return { name: 'Tooltrail, OpenSearch', ask: asking(harness.index), close: harness.close }
}

const asking =
  (index: HistoryIndex): Engine['ask'] =>
  async ({ text, tenant, askedAt }, limit) => {
    const asked = { now: askedAt, timeZone: 'UTC' }
    const { hits } = await index.search({ scope: { tenant }, text, filters: {}, limit, asked })
    return hits.map(({ session, messageId }) => messageName(session, messageId))
  }
