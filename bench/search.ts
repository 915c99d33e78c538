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
import { createSqliteHistoryIndex } from '../functions/adapters/sqlite/history/history-index.ts'
import { createHistoryTables, type HistoryTables } from '../functions/adapters/sqlite/history/tables.ts'
import type { HistoryDocument } from '../functions/domain/history.ts'
import { makeHistory } from './made/history-events.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * History search over 100,000 made-up entries: how long the index takes to build, how large it is, and how long a search
 * takes. Compared with a `LIKE` scan for the words of each query over the same rows.
 */
const DOCUMENTS = 100_000
const BATCH = 500
/** As the thread that indexes has it, which does not wait for the disk either. */
const CACHE_KB = 16_384
/** As in `history-merge.ts`. */
const AT_ONCE = 32

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-search-'))
try {
  const path = join(folder, 'history.db')
  const database = openDatabase(path)
  database.exec(`PRAGMA cache_size = -${CACHE_KB}; PRAGMA synchronous = NORMAL`)
  const { documents, queries } = makeHistory(DOCUMENTS)
  const plain = openDatabase(join(folder, 'plain.db'))
  const reference = await measured(() => buildPlain(plain, documents))
  plain.close()
  const build = await measured(() => buildIndex(database, documents))
  const writes = timeWrites(database)
  await reportSearch(database, queries)
  const bytes = documents.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  const megabytes = (size: number): string => (size / 1_048_576).toFixed(1)
  const row = (name: string, { wall, processor }: Taken): (string | number)[] => [
    ...[name, wall, processor, Math.round(documents.length / wall), Math.round(documents.length / processor)],
    `${(processor / reference.processor).toFixed(1)} ×`,
  ]
  printTable(
    `Index of ${documents.length} entries`,
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

interface Taken {
  readonly wall: number
  readonly processor: number
}

/** Seconds that it takes, and those of them on a processor. */
async function measured(work: () => unknown): Promise<Taken> {
  const before = process.cpuUsage()
  const wall = (await timed(work)) / 1_000
  const { user, system } = process.cpuUsage(before)
  return { wall, processor: (user + system) / 1_000_000 }
}

/** The reference: the same texts in a full-text table that knows words alone, in transactions as large. */
function buildPlain(database: Database, documents: readonly HistoryDocument[]): void {
  database.exec('CREATE TABLE plain (id INTEGER PRIMARY KEY, text TEXT NOT NULL)')
  database.exec("CREATE VIRTUAL TABLE plainWords USING fts5 (text, content = '', contentless_delete = 1)")
  for (let start = 0; start < documents.length; start += BATCH)
    transaction(database, () => {
      for (const [place, { text }] of documents.slice(start, start + BATCH).entries()) {
        write(database, 'INSERT INTO plain (id, text) VALUES (?, ?)', start + place, text)
        write(database, 'INSERT INTO plainWords (rowid, text) VALUES (?, ?)', start + place, text)
      }
    })
}

/** Puts documents into the tables in one transaction, as the program does when it indexes what was written. */
function index(database: Database, tables: HistoryTables, documents: readonly HistoryDocument[]): void {
  const messages = Map.groupBy(documents, ({ messageId }) => messageId)
  transaction(database, () =>
    tables.put((batch) => {
      for (const [messageId, parts] of messages) {
        const [first] = parts
        if (first !== undefined) batch.replace({ tenant: 'bench', session: first.session }, messageId, parts)
      }
    }),
  )
}

async function buildIndex(database: Database, documents: readonly HistoryDocument[]): Promise<void> {
  const tables = createHistoryTables(database)
  for (let start = 0; start < documents.length; start += BATCH)
    index(database, tables, documents.slice(start, start + BATCH))
}

/** Milliseconds for one more event, when `AT_ONCE` are indexed at once. */
function timeWrites(database: Database): number[] {
  const more = makeHistory(1_280).documents.map((document) => ({
    ...document,
    session: 'later',
    messageId: `9${document.messageId}`,
  }))
  const tables = createHistoryTables(database)
  return Array.from({ length: more.length / AT_ONCE }, (_, batch) => {
    const start = performance.now()
    index(database, tables, more.slice(batch * AT_ONCE, (batch + 1) * AT_ONCE))
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

/** What a search without an index would read: every row, for all words of the query. */
function scan(database: Database, text: string): unknown[] {
  const words = text.split(' ').slice(0, 4)
  return readAll(
    database,
    `SELECT id FROM historyDocuments WHERE ${words.map(() => "text LIKE '%' || ? || '%'").join(' AND ')}
     ORDER BY time DESC`,
    ...words,
  )
}
