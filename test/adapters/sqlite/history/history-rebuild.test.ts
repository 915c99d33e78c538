import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { createDiskOutputStore } from '../../../../functions/adapters/disk/output-store.ts'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import {
  openDatabase,
  readOne,
  transaction,
  write,
  type Database,
} from '../../../../functions/adapters/sqlite/database.ts'
import { createHistoryMerger } from '../../../../functions/adapters/sqlite/history/documents/merger.ts'
import { needsReindex, reindexMessages } from '../../../../functions/adapters/sqlite/history/documents/reindex.ts'
import type { Clock } from '../../../../functions/ports/clock.ts'
import { makeTool, openHarness } from '../../../agent/harness.ts'
import { writeLog } from '../../../generators/messages.ts'
import { storeMessages } from '../log/stored-messages.ts'

const query = (text: string) => ({ scope: { tenant: 'default' }, text, filters: {}, limit: 10 })

test('a rebuild restores missing index entries and removes entries of messages that the log no longer has', async () => {
  const echo = makeTool('echo', async () => ({ text: 'a purple result '.repeat(5_000) }))
  const harness = await openHarness({
    script: [{ calls: [{ name: 'echo' }] }, { text: 'the green answer' }],
    tools: [echo],
  })
  await harness.settled(await harness.submit('an orange question'))
  // This search indexes the pending messages. The statements below then damage the index.
  expect((await harness.ports.index.search(query('purple'))).hits).toHaveLength(1)
  const database = new DatabaseSync(join(harness.folder, 'tooltrail.db'))
  database.exec(`
    DELETE FROM historyWords;
    DELETE FROM historyDocuments WHERE role <> 'user';
    UPDATE historyMessages SET message = '01M80D4KDC0000000000000000' WHERE id = 1`)
  database.close()
  expect((await harness.ports.index.search(query('purple'))).hits).toHaveLength(0)

  const { messages, removed } = await harness.rebuildHistory()

  expect({ messages, removed }).toEqual({ messages: 4, removed: 1 })
  const rebuilt = new DatabaseSync(join(harness.folder, 'tooltrail.db'))
  expect(rebuilt.prepare('SELECT * FROM historyMarks').all()).toEqual([])
  rebuilt.close()
  for (const word of ['orange', 'purple', 'green'])
    expect((await harness.ports.index.search(query(word))).hits, word).toHaveLength(1)
  await harness.close()
})

test('searches find everything during a rebuild, even while the program writes new messages', async () => {
  const harness = await openHarness({ script: Array.from({ length: 80 }, (_, n) => ({ text: `answer number${n}` })) })
  for (let turn = 0; turn < 40; turn++) await harness.settled(await harness.submit(`question ${turn}`))
  let done = false
  const rebuilt = harness.rebuildHistory().finally(() => (done = true))
  const write = (async () => {
    for (let turn = 40; turn < 60; turn++) await harness.settled(await harness.submit(`question ${turn}`))
  })()
  let searches = 0
  while (!done) {
    expect((await harness.ports.index.search(query('number7'))).hits[0]?.snippet).toBe('answer «number7»')
    searches++
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all([rebuilt, write])
  expect(searches).toBeGreaterThan(0)
  expect((await harness.ports.index.search(query('number59'))).hits[0]?.snippet).toBe('answer «number59»')
  await harness.close()
})

test('a rebuild removes words that no document has', async () => {
  const harness = await openHarness({ script: [{ text: 'the green answer' }] })
  await harness.settled(await harness.submit('an orange question'))
  await harness.ports.index.search(query('orange'))
  const database = new DatabaseSync(join(harness.folder, 'tooltrail.db'))
  database.exec(`INSERT INTO historyVocabulary (id, tenant, word) SELECT id * 8589934592 + 1000, id, 'leftover' FROM historyTenants;
    INSERT INTO historyWordParts (rowid, word) SELECT id, word FROM historyVocabulary WHERE word = 'leftover'`)
  await harness.rebuildHistory()
  const words = database.prepare('SELECT word FROM historyVocabulary ORDER BY word').all()
  expect(words.map(({ word }) => word)).toEqual(['answer', 'green', 'orange', 'question', 'the'])
  expect(database.prepare("SELECT rowid FROM historyWordParts WHERE historyWordParts MATCH 'eft'").all()).toEqual([])
  database.close()
  await harness.close()
})

test('an empty log is rebuilt at once', async () => {
  const harness = await openHarness({ script: [] })
  expect(await harness.rebuildHistory()).toEqual({ messages: 0, removed: 0 })
  await harness.close()
})

describe('messages that an earlier version indexed', () => {
  let database: Database
  let stopping: AbortController
  let waits: number[]
  let reported: string[]
  /** Called before each indexing. */
  let meanwhile: () => void
  beforeEach(() => {
    database = openDatabase(':memory:')
    stopping = new AbortController()
    ;[waits, reported, meanwhile] = [[], [], () => undefined]
    const { log } = writeLog().user('ёлка').user('plain')
    storeMessages(database, { tenant: 'acme', session: 's' }, log)
  })

  const reindex = async (sleep: Clock['sleep']): Promise<void> => {
    const merger = createHistoryMerger({ database, outputs: createDiskOutputStore({ folder: '' }), report: () => {} })
    await merger.merge(undefined)
    transaction(database, () => write(database, 'INSERT INTO historyReindex (done) VALUES (0)'))
    await reindexMessages({
      database,
      merge: async () => {
        meanwhile()
        await merger.merge(undefined)
      },
      closed: stopping.signal,
      clock: { sleep },
      report: (error) => void reported.push(String(error)),
    })
  }
  const marks = (): number => readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyMarks')?.n ?? 0

  test('are indexed again; failed attempts are repeated with growing delays', async () => {
    meanwhile = () => {
      if (waits.length < 8) throw new Error('the disk is full')
    }
    await reindex(async (milliseconds) => void waits.push(milliseconds))
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    expect(new Set(reported)).toEqual(new Set(['Error: the disk is full']))
    expect([needsReindex(database), marks()]).toEqual([false, 0])
  })

  test('remain marked as pending for the next start when the program stops during a wait', async () => {
    meanwhile = () => {
      throw new Error('the disk is full')
    }
    await reindex(async (milliseconds, signal) => {
      const slept = createSystemClock().sleep(milliseconds, signal)
      stopping.abort()
      await slept
    })
    expect([reported.length, needsReindex(database), marks()]).toEqual([1, true, 1])
  })
})
