import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDatabase, readAll, readOne, write, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import type { HistoryProjection } from '../../../../functions/adapters/sqlite/history/documents/projection.ts'
import { createSqliteSessionDeletion } from '../../../../functions/adapters/sqlite/log/sessions/session-deletion.ts'
import type { ToolMessage } from '../../../../functions/domain/messages/message.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { callTo, writeLog } from '../../../generators/messages.ts'
import { indexOn, projectionOn } from './projection.ts'
import { storeMessages } from '../log/stored-messages.ts'

const key = { tenant: 'acme', session: 's-1' }
const CHUNKS = 100
/** A call and its result. The result has `CHUNKS` documents, each with a unique word. */
const LONG = Array.from({ length: CHUNKS }, (_, n) => `zebra number${n} ${'x '.repeat(1_950)}\n`).join('')
const OUTPUT = { bytes: LONG.length, lines: CHUNKS, sha256: '', mediaType: 'text/plain', object: 'long' }

interface Process {
  readonly database: Database
  readonly projection: HistoryProjection
  readonly documents: () => number
  readonly find: (text: string) => Promise<string[]>
}

let folder: string
let opened: Database[]
let reported: unknown[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-parts-'))
  opened = []
  reported = []
})
afterEach(async () => {
  expect(reported).toEqual([])
  for (const connection of opened) if (connection.isOpen) connection.close()
  await rm(folder, { recursive: true, force: true })
})

function open(output = LONG): Process {
  const database = openDatabase(join(folder, 'history.sqlite'))
  opened.push(database)
  const projection = projectionOn({
    database,
    outputs: { read: async () => new TextEncoder().encode(output) },
    report: (error) => void reported.push(error),
  })
  const index = indexOn({ database, history: projection })
  return {
    database,
    projection,
    documents: () => readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyDocuments')?.n ?? 0,
    find: async (text) =>
      (await index.search({ scope: key, text, filters: {}, limit: 10 })).hits.map(({ messageId }) => messageId),
  }
}

function storeLong({ database }: Process): ToolMessage {
  const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'preview', { output: OUTPUT })
  storeMessages(database, key, log)
  const [, long] = log
  if (long?.role !== 'tool') throw new TypeError('no tool message')
  return long
}

/** Resolves when some documents are stored, but not all. */
async function untilBegun({ documents }: Process): Promise<void> {
  for (let turns = 0; turns < 10_000 && documents() === 0; turns++)
    await new Promise((resolve) => setImmediate(resolve))
  expect(documents()).toBeGreaterThan(0)
  expect(documents()).toBeLessThan(CHUNKS)
}

async function expectWhole(process: Process, long: ToolMessage): Promise<void> {
  for (const n of [0, 50, CHUNKS - 1]) expect(await process.find(`number${n}`), `number${n}`).toEqual([long.id])
  const rows = readAll<{ id: number; part: string }>(
    process.database,
    "SELECT id, part FROM historyDocuments WHERE role <> 'user' ORDER BY id",
  )
  expect(rows.map(({ part }) => part)).toEqual(['c', ...Array.from({ length: rows.length - 1 }, (_, n) => `r${n}`)])
  expect(rows.length).toBeGreaterThan(CHUNKS)
  const [first] = rows
  expect(rows.at(-1)?.id).toBe((first?.id ?? 0) + rows.length - 1)
  expect(readAll(process.database, 'SELECT * FROM historyMarks')).toEqual([])
}

describe('a message of many documents', () => {
  test('is indexed in several transactions, and other work proceeds between them', async () => {
    const [writer, other] = [open(), open()]
    const long = storeLong(writer)
    const merged = writer.projection.merge()
    await untilBegun(writer)
    storeMessages(
      other.database,
      key,
      writeLog()
        .user('a giraffe')
        .log.map((message) => ({ ...message, id: `0${long.id.slice(1, -1)}Z` })),
    )
    await other.projection.merge()
    await merged
    await expectWhole(writer, long)
    expect(await writer.find('giraffe')).toHaveLength(1)
  })

  test('is completed by the next search after a crash', async () => {
    const crashed = open()
    const long = storeLong(crashed)
    const merged = crashed.projection.merge()
    await untilBegun(crashed)
    crashed.database.close()
    await expect(merged).rejects.toMatchObject({ code: 'storage_failed' })
    const survivor = open()
    const begun = survivor.documents()
    expect(await survivor.find('number99')).toEqual([long.id])
    const numbers = 'SELECT min(d.id) - t.id * 8589934592 AS first FROM historyDocuments d, historyTenants t'
    expect(readOne(survivor.database, numbers)).toEqual({ first: 1 })
    expect(begun).toBeGreaterThan(0)
    await expectWhole(survivor, long)
  })

  test('is indexed from the start if a new program version builds different documents after a crash', async () => {
    const crashed = open()
    const long = storeLong(crashed)
    const merged = crashed.projection.merge()
    await untilBegun(crashed)
    crashed.database.close()
    await expect(merged).rejects.toMatchObject({ code: 'storage_failed' })
    const survivor = open(`${LONG.replaceAll('zebra', 'giraffe')}${LONG}`)
    expect(await survivor.find('giraffe number99')).toEqual([long.id])
    const [, first] = readAll<{ text: string }>(survivor.database, 'SELECT text FROM historyDocuments ORDER BY id')
    expect(first?.text).toContain('giraffe number0 ')
    await expectWhole(survivor, long)
  })

  test('is indexed once by two processes that share the work', async () => {
    const [one, two] = [open(), open()]
    const long = storeLong(one)
    await Promise.all([one.projection.merge(), two.projection.merge()])
    await expectWhole(two, long)
  })

  test('is indexed with its latest content when it changes during indexing', async () => {
    const process = open()
    const long = storeLong(process)
    const merged = process.projection.merge()
    await untilBegun(process)
    storeMessages(process.database, key, [{ ...long, call: 'another call' }])
    await merged
    expect(await process.find('another call')).toEqual([long.id])
    const calls = "SELECT text FROM historyDocuments WHERE role = 'tool_call'"
    expect(readAll(process.database, calls)).toEqual([{ text: 'another call' }])
    await expectWhole(process, long)
  })

  test('remains completely searchable while it is indexed again', async () => {
    const process = open()
    const long = storeLong(process)
    await process.projection.merge()
    const parts = (): unknown => readAll(process.database, 'SELECT part FROM historyDocuments ORDER BY part')
    const before = parts()
    write(process.database, "INSERT INTO historyMarks (message, tenant) SELECT number, 'acme' FROM messages")
    let done = false
    const merged = process.projection.merge().finally(() => (done = true))
    while (!done) {
      expect(parts()).toEqual(before)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await merged
    await expectWhole(process, long)
  })

  test('is removed in several transactions and leaves no rows', async () => {
    const process = open()
    storeLong(process)
    const { database, projection: history, documents } = process
    const deletion = createSqliteSessionDeletion({ database, clock: createManualClock(), history })
    await process.projection.merge()
    const all = documents()
    await deletion.tombstone(key)
    const counts = [all]
    for (let more = true; more && counts.length < 100; counts.push(documents()))
      more = (await deletion.removeRows(key, 500)).more
    expect(counts.length).toBeGreaterThan(2)
    expect(documents()).toBe(0)
    expect(await deletion.state(key)).toMatchObject({ messages: 2, documents: all })
    for (const table of ['messages', 'historyMessages', 'historyWordCounts', 'historyVocabulary'])
      expect(readAll(database, `SELECT * FROM ${table}`), table).toEqual([])
  })

  test('is counted with its pending documents when it is deleted', async () => {
    const process = open()
    storeLong(process)
    const { database, projection: history } = process
    const deletion = createSqliteSessionDeletion({ database, clock: createManualClock(), history })
    await deletion.tombstone(key)
    await deletion.removeRows(key, 500)
    expect((await deletion.state(key))?.documents).toBeGreaterThan(0)
  })
})
