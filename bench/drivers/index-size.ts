import { DatabaseSync } from 'node:sqlite'
import { openDatabase, transaction } from '../../functions/adapters/sqlite/database.ts'
import { createHistoryTables, type HistoryTables } from '../../functions/adapters/sqlite/history/documents/tables.ts'
import type { HistoryDocument } from '../../functions/domain/history.ts'
import { makeHistory } from '../made/history-events.ts'
const N = Number(process.argv[2]), path = process.argv[3] ?? ''
const database = openDatabase(path)
database.exec('PRAGMA cache_size = -16384; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000')
const made = makeHistory(N); const tables = createHistoryTables(database); let [count, bytes, batches] = [0, 0, 0]
const b = performance.now(), c0 = process.cpuUsage()
for (const documents of made.batches(500)) { transaction(database, () => put(tables, documents)); if (++batches % 4 === 0) transaction(database, tables.flushPendingWords); count += documents.length; bytes += documents.reduce((s, { text }) => s + Buffer.byteLength(text), 0) }
transaction(database, tables.flushPendingWords)
const c = process.cpuUsage(c0)
database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
console.log(JSON.stringify({ count, text_mb: bytes / 1048576, wall_s: (performance.now() - b) / 1000, cpu_s: (c.user + c.system) / 1e6 }))
const sizes = (label: string) => { const rows = database.prepare('SELECT name, sum(pgsize) AS bytes, sum(payload) AS payload, sum(unused) AS unused FROM dbstat GROUP BY name ORDER BY 2 DESC').all() as any[]; console.log(label, 'MB all', (rows.reduce((s, r) => s + r.bytes, 0) / 1048576).toFixed(1), rows.filter((r) => r.bytes > 200_000).map((r) => `${r.name} ${(r.bytes / 1048576).toFixed(2)} (unused ${(r.unused / 1048576).toFixed(2)})`).join(' | ')) }
sizes('sizes'); console.log('free pages', database.prepare('PRAGMA freelist_count').get())
database.close()
function put(tables: HistoryTables, documents: readonly HistoryDocument[]): void { const messages = Map.groupBy(documents, ({ messageId }) => messageId); tables.put((batch) => { for (const [messageId, parts] of messages) { const [first] = parts; if (first !== undefined) batch.replace({ tenant: 'bench', session: first.session }, messageId, parts) } }) }
void DatabaseSync
