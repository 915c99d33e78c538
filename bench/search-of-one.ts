import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction, type Database } from '../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryTables, type HistoryTables } from '../functions/adapters/sqlite/history/documents/tables.ts'
import type { HistoryDocument, HistoryScope } from '../functions/domain/history.ts'
import { makeHistory, type MadeHistory } from './made/history-events.ts'
import { printTable, quantile } from './report.ts'

/**
 * Measures a search of one owner or one session, with 10,000 and 100,000 newer entries of other owners in the same
 * tenant. The time should hardly depend on the number of entries. With the argument 1000000, also measures with a
 * million entries, which take minutes to index. Times are milliseconds of processor time.
 */
const SIZES = [10_000, 100_000, 1_000_000].filter((size) => size <= Number(process.argv[2] ?? 100_000))
const TENANT = 'bench'
const OWNER = 'one'
/** The owner has every fifth session among the first `OLDEST` entries. */
const OLDEST = 10_000
const BATCH = 500
/** Settings of the database, equal to those of the indexing thread, which does not wait for the disk. */
const CACHE_KB = 16_384

const scopes: readonly (readonly [name: string, scope: HistoryScope])[] = [
  ['an owner', { tenant: TENANT, owner: OWNER }],
  ['a session', { tenant: TENANT, session: 'session-0' }],
  ['the tenant', { tenant: TENANT }],
]

/** Copies the document for the owner, or for one of the other owners. */
function owned(document: HistoryDocument, place: number): HistoryDocument {
  const session = Number(document.session.slice('session-'.length))
  const isMine = place < OLDEST && session % 5 === 0
  return { ...document, tenant: TENANT, owner: isMine ? OWNER : `owner-${session % 1_000}` }
}

function index(database: Database, tables: HistoryTables, documents: readonly HistoryDocument[]): void {
  const messages = Map.groupBy(documents, ({ messageId }) => messageId)
  transaction(database, () => {
    tables.put((batch) => {
      for (const [messageId, parts] of messages)
        batch.replace({ tenant: TENANT, session: parts[0]?.session ?? '' }, messageId, parts)
    })
    tables.flushPendingWords()
  })
}

async function measure(database: Database, size: number): Promise<(string | number)[][]> {
  const { search } = createSqliteHistoryIndex({
    database,
    history: { merge: async () => undefined },
    clock: createSystemClock(),
  })
  const rows: (string | number)[][] = []
  for (const [name, scope] of scopes) {
    const kinds = new Map<string, number[]>()
    for (const { kind, text } of queries) {
      const before = process.cpuUsage()
      await search({ scope, text, filters: {}, limit: 10 })
      const { user, system } = process.cpuUsage(before)
      kinds.set(kind, [...(kinds.get(kind) ?? []), (user + system) / 1_000])
    }
    const all = [...kinds.values()].flat()
    const [slowest] = [...kinds].toSorted((left, right) => quantile(right[1], 0.5) - quantile(left[1], 0.5))
    rows.push([
      `${name}, beside ${size}`,
      ...[0.5, 0.95, 1].map((part) => quantile(all, part)),
      slowest?.[0] ?? '',
      quantile(slowest?.[1] ?? [], 0.5),
    ])
  }
  return rows
}

/** Returns queries for the oldest entries. */
function queriesOfOldest(): ReturnType<MadeHistory['queries']> {
  const oldest = makeHistory(OLDEST)
  Array.from(oldest.batches(OLDEST))
  return oldest.queries()
}

const queries = queriesOfOldest()
const folder = mkdtempSync(join(tmpdir(), 'tooltrail-search-of-one-'))
const rows: (string | number)[][] = []
try {
  const database = openDatabase(join(folder, 'history.db'))
  database.exec(`PRAGMA cache_size = -${CACHE_KB}; PRAGMA synchronous = NORMAL`)
  const tables = createHistoryTables(database)
  let [indexed, measured] = [0, 0]
  for (const documents of makeHistory(Math.max(...SIZES)).batches(BATCH)) {
    index(
      database,
      tables,
      documents.map((document, place) => owned(document, indexed + place)),
    )
    indexed += documents.length
    const size = SIZES[measured] ?? Infinity
    if (indexed < size) continue
    rows.push(...(await measure(database, size)))
    measured++
  }
  database.close()
} finally {
  rmSync(folder, { recursive: true })
}
printTable(
  'Searches within a tenant of many, milliseconds of processor time',
  ['of, entries', 'p50', 'p95', 'most', 'slowest kind', 'its p50'],
  rows.toSorted(([left], [right]) => String(left).localeCompare(String(right), 'en', { numeric: true })),
)
