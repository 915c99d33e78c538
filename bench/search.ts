import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../functions/adapters/memory/system-clock.ts'
import {
  openDatabase,
  readAll,
  readOne,
  transaction,
  write,
  type Database,
} from '../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryTables, type HistoryTables } from '../functions/adapters/sqlite/history/documents/tables.ts'
import type { HistoryDocument } from '../functions/domain/history.ts'
import { makeHistory, type MadeHistory } from './made/history-events.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * Measures history search over 100,000 invented entries: the time to build the index, its size, and the time of a
 * search. The reference for a search is a `LIKE` scan of the rows for the words of each query.
 */
const DOCUMENTS = 100_000
const BATCH = 500
/**
 * Settings of the database, equal to those of the indexing thread (`history-worker.ts`). That thread does not wait for
 * the disk.
 */
const CACHE_KB = 16_384
const CHECKPOINT_PAGES = 4_000
/** Number of events that are indexed at once. */
const AT_ONCE = 32
/** Number of batches whose words are stored at once, as in `merge.ts`. */
const SETTLED_AT_ONCE = 4

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-search-'))
try {
  const path = join(folder, 'history.db')
  const database = openDatabase(path)
  database.exec(
    `PRAGMA cache_size = -${CACHE_KB}; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
  )
  const made = makeHistory(DOCUMENTS)
  const { reference, build, count, bytes } = buildBoth(openPlain(join(folder, 'plain.db')), database, made)
  const writes = timeWrites(database)
  await reportSearch(database, made.queries())
  const megabytes = (size: number): string => (size / 1_048_576).toFixed(1)
  const row = (name: string, { wall, processor }: Taken): (string | number)[] => [
    ...[name, wall, processor, Math.round(count / wall), Math.round(count / processor)],
    `${(processor / reference.processor).toFixed(1)} ×`,
  ]
  printTable(
    `Index of ${count} entries`,
    ['', 'wall s', 'processor s', 'entries/s', 'entries/processor s', 'against plain'],
    [row('a plain FTS5 table', reference), row('the index', build)],
  )
  printTable(
    'Of the index',
    ['text MB', 'file MB', 'one more, ms p50', 'p95'],
    [[megabytes(bytes), megabytes(statSync(path).size), quantile(writes, 0.5), quantile(writes, 0.95)]],
  )
  database.close()
} finally {
  rmSync(folder, { recursive: true })
}

/** Duration of some work in seconds: the elapsed time, and the processor time of all threads. */
interface Taken {
  wall: number
  processor: number
}

function add(taken: Taken, work: () => void): void {
  const [begun, before] = [performance.now(), process.cpuUsage()]
  work()
  const { user, system } = process.cpuUsage(before)
  taken.wall += (performance.now() - begun) / 1_000
  taken.processor += (user + system) / 1_000_000
}

/**
 * Opens the reference for the index: a plain full-text table that gets the same texts, in equally large transactions.
 */
function openPlain(path: string): Database {
  const database = openDatabase(path)
  database.exec('CREATE TABLE plain (id INTEGER PRIMARY KEY, text TEXT NOT NULL)')
  database.exec("CREATE VIRTUAL TABLE plainWords USING fts5 (text, content = '', contentless_delete = 1)")
  return database
}

/** Builds the reference and the index alternately, so that other work on the machine affects both equally. */
function buildBoth(plain: Database, database: Database, made: MadeHistory) {
  const [reference, build]: [Taken, Taken] = [
    { wall: 0, processor: 0 },
    { wall: 0, processor: 0 },
  ]
  const tables = createHistoryTables(database)
  let [count, bytes] = [0, 0]
  let batches = 0
  for (const documents of made.batches(BATCH)) {
    add(reference, () => putPlain(plain, documents, count))
    add(build, () => transaction(database, () => put(tables, documents)))
    if (++batches % SETTLED_AT_ONCE === 0) add(build, () => transaction(database, tables.flushPendingWords))
    count += documents.length
    bytes += documents.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  }
  add(build, () => transaction(database, tables.flushPendingWords))
  plain.close()
  return { reference, build, count, bytes }
}

function putPlain(database: Database, documents: readonly HistoryDocument[], first: number): void {
  transaction(database, () => {
    for (const [place, { text }] of documents.entries()) {
      write(database, 'INSERT INTO plain (id, text) VALUES (?, ?)', first + place, text)
      write(database, 'INSERT INTO plainWords (rowid, text) VALUES (?, ?)', first + place, text)
    }
  })
}

/** Puts documents into the tables, like the indexer of the program. Call it in a transaction. */
function put(tables: HistoryTables, documents: readonly HistoryDocument[]): void {
  const messages = Map.groupBy(documents, ({ messageId }) => messageId)
  tables.put((batch) => {
    for (const [messageId, parts] of messages) {
      const [first] = parts
      if (first !== undefined) batch.replace({ tenant: 'bench', session: first.session }, messageId, parts)
    }
  })
}

/** Measures the milliseconds that indexing one further event takes. `AT_ONCE` events are indexed at once. */
function timeWrites(database: Database): number[] {
  const more = [...makeHistory(1_280).batches(AT_ONCE)]
    .flat()
    .map((document) => ({ ...document, session: 'later', messageId: `9${document.messageId}` }))
  const tables = createHistoryTables(database)
  return Array.from({ length: more.length / AT_ONCE }, (_, batch) => {
    const start = performance.now()
    transaction(database, () => {
      put(tables, more.slice(batch * AT_ONCE, (batch + 1) * AT_ONCE))
      tables.flushPendingWords()
    })
    return (performance.now() - start) / AT_ONCE
  })
}

async function reportSearch(database: Database, queries: readonly { kind: string; text: string }[]): Promise<void> {
  const { search } = createSqliteHistoryIndex({
    database,
    history: { merge: async () => undefined },
    clock: createSystemClock(),
  })
  const scope = { tenant: 'bench' }
  const all = new Map<string, { search: number[]; scan: number[] }>()
  for (const { kind, text } of queries) {
    const times = all.get(kind) ?? { search: [], scan: [] }
    times.search.push(await timed(() => search({ scope, text, filters: {}, limit: 10 })))
    times.scan.push(await timed(() => Promise.resolve(scan(database, text))))
    all.set(kind, times)
  }
  const row = (kind: string, { search, scan: scans }: { search: number[]; scan: number[] }) => [
    kind,
    ...[0.5, 0.95, 0.99].map((part) => quantile(search, part)),
    quantile(scans, 0.5),
  ]
  const total = {
    search: [...all.values()].flatMap(({ search }) => search),
    scan: [...all.values()].flatMap((times) => times.scan),
  }
  printTable(
    `Search over ${readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyDocuments')?.n ?? 0} entries, milliseconds`,
    ['query', 'p50', 'p95', 'p99', 'LIKE scan p50'],
    [...Array.from(all, ([kind, times]) => row(kind, times)), row('all', total)],
  )
}

/** Reads the rows that contain all words of the query. A search without an index would compare every row. */
function scan(database: Database, text: string): unknown[] {
  const words = text.split(' ').slice(0, 4)
  return readAll(
    database,
    `SELECT id FROM historyDocuments WHERE ${words.map(() => "text LIKE '%' || ? || '%'").join(' AND ')}
     ORDER BY time DESC`,
    ...words,
  )
}
