/* Evidence, search: Words that are stored after their documents are neither missing nor left over after a crash,
 * change or deletion. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { yieldToEventLoop } from '../../../../functions/domain/time/yield-to-event-loop.ts'
import {
  openDatabase,
  readAll,
  readOne,
  transaction,
  type Database,
} from '../../../../functions/adapters/sqlite/database.ts'
import { createPendingMessages } from '../../../../functions/adapters/sqlite/history/documents/pending-messages.ts'
import type { HistoryProjection } from '../../../../functions/adapters/sqlite/history/documents/projection.ts'
import { writeLog } from '../../../generators/messages.ts'
import { indexFaults } from './history-faults.ts'
import { indexOn, projectionOn } from './projection.ts'
import { dropMessages, storeMessages } from '../log/stored-messages.ts'

const key = { tenant: 'acme', session: 's-1' }
/** More messages than one transaction stores. */
const MANY = 300

let database: Database
let projection: HistoryProjection
beforeEach(() => {
  database = openDatabase(':memory:')
  projection = project()
})

const project = (): HistoryProjection =>
  projectionOn({
    database,
    outputs: { read: async () => new Uint8Array() },
    report: (error) => expect(error).toBeUndefined(),
  })

/** Stores `count` messages, each with a unique word. Returns their ids. */
function store(count: number, session = key): string[] {
  const { log } = Array.from({ length: count }).reduce<ReturnType<typeof writeLog>>(
    (writer, _, place) => writer.user(`the zebra of word${place}x`),
    writeLog(),
  )
  storeMessages(database, session, log)
  return log.map(({ id }) => id)
}

const count = (table: string): number => readOne<{ n: number }>(database, `SELECT count(*) AS n FROM ${table}`)?.n ?? 0

const find = async (text: string): Promise<string[]> => {
  const index = indexOn({ database, history: { merge: async () => undefined } })
  const { hits } = await index.search({ scope: { tenant: 'acme' }, text, filters: {}, limit: 10 })
  return hits.map(({ messageId }) => messageId)
}

/** Indexes the pending messages. Calls `then` when documents are stored but their words are not. */
async function mergeAnd(then: () => void): Promise<void> {
  const merged = projection.merge()
  while (count('historyDocuments') === 0) await yieldToEventLoop()
  expect(count('historyVocabulary')).toBe(0)
  then()
  await merged
}

describe('pending words', () => {
  test('are stored for all messages, and no message remains marked as pending', async () => {
    const ids = store(MANY)
    await mergeAnd(() => expect(count('historyMarks')).toBe(MANY))
    expect([count('historyMarks'), count('historyDocuments'), count('historyVocabulary')]).toEqual([0, MANY, MANY + 2])
    expect(await find('wrod7x')).toEqual([ids[7]])
  })

  test('are stored later if the first attempt fails, because their messages remain marked as pending', async () => {
    const ids = store(MANY)
    database.exec(`CREATE TEMP TRIGGER full BEFORE INSERT ON historyVocabulary BEGIN SELECT RAISE(ABORT, 'full'); END`)
    await expect(projection.merge()).rejects.toThrow('full')
    expect([count('historyMarks'), count('historyDocuments'), count('historyVocabulary')]).toEqual([MANY, MANY, 0])
    database.exec('DROP TRIGGER full')
    await projection.merge()
    expect([count('historyMarks'), count('historyDocuments')]).toEqual([0, MANY])
    expect(await find('wrod7x')).toEqual([ids[7]])
  })

  test('are stored by the next reader after their process crashed', async () => {
    const ids = store(MANY)
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-owed-'))
    const left = join(folder, 'left.db')
    await mergeAnd(() => database.exec(`VACUUM INTO '${left}'`))
    database = openDatabase(left)
    expect([count('historyMarks'), count('historyDocuments'), count('historyVocabulary')]).toEqual([MANY, 256, 0])
    await project().merge()
    expect([count('historyMarks'), count('historyDocuments'), count('historyVocabulary')]).toEqual([0, MANY, MANY + 2])
    expect(await find('wrod7x')).toEqual([ids[7]])
    database.close()
    rmSync(folder, { recursive: true })
  })

  test("of an assistant's message are stored by the next process after a crash", async () => {
    const { log } = Array.from({ length: MANY }).reduce<ReturnType<typeof writeLog>>(
      (writer, _, place) => writer.assistant(`the zebra of word${place}x`),
      writeLog(),
    )
    storeMessages(database, key, log)
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-owed-'))
    const left = join(folder, 'left.db')
    await mergeAnd(() => database.exec(`VACUUM INTO '${left}'`))
    database = openDatabase(left)
    await project().merge()
    expect(indexFaults(database)).toEqual([])
    database.close()
    rmSync(folder, { recursive: true })
  })

  test('are taken from the newest version of a message that changes during indexing', async () => {
    const ids = store(MANY)
    await mergeAnd(() => {
      const [first] = writeLog().user('a giraffe').log
      if (first === undefined) throw new RangeError('no message')
      storeMessages(database, key, [{ ...first, id: ids[0] ?? '' }])
    })
    expect([count('historyMarks'), count('historyDocuments')]).toEqual([0, MANY])
    expect(await find('griaffe')).toEqual([ids[0]])
    expect(readAll(database, "SELECT 1 FROM historyDocuments WHERE text LIKE '%word0x'")).toEqual([])
  })

  test('are dropped if their session is deleted before they are stored', async () => {
    const ids = store(MANY)
    await mergeAnd(() => {
      dropMessages(database, key, ids)
      transaction(database, () => projection.remove(key, ids))
    })
    for (const table of ['historyMarks', 'historyDocuments', 'historyVocabulary', 'historySessionWords'])
      expect(count(table), table).toBe(0)
  })

  test('are dropped if the transaction that stored their documents rolled back', async () => {
    const ids = store(MANY)
    database.exec(`CREATE TABLE parents (id INTEGER PRIMARY KEY);
      CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER orphan AFTER INSERT ON historyMessages BEGIN INSERT INTO children VALUES (1); END`)
    await expect(projection.merge()).rejects.toThrow('FOREIGN KEY')
    database.exec('DROP TRIGGER orphan')
    dropMessages(database, key, ids)
    // The rows of this session reuse the row numbers of the other session.
    storeMessages(database, { tenant: 'acme', session: 's-2' }, writeLog().user('a giraffe').log)
    await projection.merge()
    expect(readAll(database, 'SELECT word FROM historyVocabulary')).toEqual([{ word: 'giraffe' }])
  })

  test('are stored by one of two processes that index at once', async () => {
    const ids = store(MANY)
    await Promise.all([projection.merge(), project().merge()])
    expect([count('historyMarks'), count('historyDocuments'), count('historyVocabulary')]).toEqual([0, MANY, MANY + 2])
    expect(await find('wrod7x')).toEqual([ids[7]])
  })

  test('leave their message marked as pending until each of two writers has stored its words', () => {
    store(1)
    const [first, second] = [createPendingMessages(database), createPendingMessages(database)]
    for (const pending of [first, second]) pending.add(1, 5)
    expect([first.unmark(), count('historyMarks')]).toEqual([[], 1])
    expect([second.unmark(), count('historyMarks')]).toEqual([[], 0])
  })

  test('are stored once if a flush of all tenants and a flush of one tenant run at once', async () => {
    store(MANY)
    await Promise.all([projection.merge(), projection.merge('acme')])
    expect(readAll(database, 'SELECT documents, lastDocument FROM historyTenants')).toEqual([
      { documents: MANY, lastDocument: MANY },
    ])
    expect(count('historyMarks')).toBe(0)
  })
})
