/* Evidence, search: If a program stops right after a write, the next program completes the index, and no warning is logged. */
/* Evidence, search: A search waits only for pending writes of its own tenant. Indexing blocks no request. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  openDatabase,
  readOne,
  transaction,
  write,
  type Database,
} from '../../../functions/adapters/sqlite/database.ts'
import type { HistoryMerger } from '../../../functions/adapters/sqlite/history/documents/merger.ts'
import { createSqliteHistoryProjection } from '../../../functions/adapters/sqlite/history/documents/projection.ts'
import type { HistoryProjection } from '../../../functions/adapters/sqlite/history/documents/projection.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'
import { createHistoryThread } from '../../../functions/runtime/local/history-thread.ts'
import { indexOn } from '../../adapters/sqlite/history/projection.ts'
import { storeMessages } from '../../adapters/sqlite/log/stored-messages.ts'
import { writeLog } from '../../generators/messages.ts'

let folder: string
let database: Database
let merger: HistoryMerger
let history: HistoryProjection
let index: HistoryIndex
let reported: unknown[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-thread-'))
  reported = []
  open()
})
afterEach(async () => {
  await history.close()
  database.close()
  await rm(folder, { recursive: true, force: true })
  expect(reported).toEqual([])
})

function open(): void {
  const path = join(folder, 'history.sqlite')
  const report = (error: unknown): void => void reported.push(error)
  database = openDatabase(path)
  merger = createHistoryThread({ database, path, outputs: join(folder, 'outputs'), report })
  history = createSqliteHistoryProjection({ database, merger, report })
  index = indexOn({ database, history })
}

function say(tenant: string, texts: readonly string[]): void {
  const { log } = texts.reduce((writer, text) => writer.user(text), writeLog())
  storeMessages(database, { tenant, session: 's' }, log)
}

const find = async (tenant: string, text: string): Promise<number> =>
  (await index.search({ scope: { tenant }, text, filters: {}, limit: 10 })).hits.length
const marks = (): number => readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyMarks')?.n ?? 0

test('a search waits only for pending writes of its own tenant', async () => {
  const hostile = ['aB', '\u{1F600}=>', '\uFDFA', 'a\u0130', 'x1y2']
  say(
    'loud',
    hostile.map((one) => one.repeat(200_000)),
  )
  const all = merger.merge(undefined)
  say('quiet', ['a zebra'])
  let turns = 0
  const counting = setInterval(() => turns++, 5)
  expect(await find('quiet', 'zebra')).toBe(1)
  expect(marks()).toBeGreaterThan(0)
  // This thread can write while messages are being indexed, because its writes have priority.
  transaction(database, () => write(database, 'UPDATE sessions SET updatedAt = ?', 1))
  await all
  clearInterval(counting)
  expect(marks()).toBe(0)
  expect(turns).toBeGreaterThan(50)
})

test('texts that an earlier version indexed are indexed again in the background', async () => {
  say('old', [
    'купили ёлку вчера',
    'plain words',
    'behind\0a NUL: ёж',
    ...Array.from({ length: 500 }, (_, n) => `Größe ${n}`),
  ])
  await merger.merge(undefined)
  const indexed = (): number => readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyWords')?.n ?? 0
  const all = indexed()
  // Removes the tokens of every document whose text contains characters outside ASCII.
  const words = 'DELETE FROM historyWords WHERE rowid IN (SELECT id FROM historyDocuments WHERE text <> ?)'
  transaction(database, () => {
    write(database, words, 'plain words')
    write(database, 'INSERT INTO historyReindex (done) VALUES (0)')
  })
  expect(await find('old', 'елку')).toBe(0)
  expect((await index.search({ scope: { tenant: 'old' }, text: '', filters: {}, limit: 1 })).incomplete).toBe(true)
  await history.close()
  database.close()
  open()
  await merger.merge(undefined)
  await expect.poll(() => readOne(database, 'SELECT 1 FROM historyReindex')).toBe(undefined)
  expect([await find('old', 'елку'), await find('old', 'plain'), indexed(), marks()]).toEqual([1, 1, all, 0])
  expect(await find('old', 'еж')).toBe(1)
})

test('a program that ends just after a write reports no error, and its message remains pending', async () => {
  say('quiet', ['a zebra'])
  history.written()
  await history.close()
  history.written()
  await sleep(300)
  expect([reported, marks()]).toEqual([[], 1])
})

test('messages that were pending when the thread ended are indexed by the next thread', async () => {
  say('quiet', ['a zebra'])
  await merger.close()
  await expect(find('quiet', 'zebra')).rejects.toMatchObject({ code: 'search_unavailable' })
  database.close()
  open()
  expect(await find('quiet', 'zebra')).toBe(1)
})

test('a failing index table fails the search, and the next search retries', async () => {
  say('quiet', ['a zebra'])
  database.exec('ALTER TABLE historyMessages RENAME TO elsewhere')
  await expect(find('quiet', 'zebra')).rejects.toMatchObject({ code: 'search_unavailable' })
  database.exec('ALTER TABLE elsewhere RENAME TO historyMessages')
  expect(await find('quiet', 'zebra')).toBe(1)
})
