import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDatabase, readOne, transaction, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../../../functions/adapters/sqlite/history/search/history-index.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import { indexOn, projectionOn } from './projection.ts'
import { dropMessages, storeMessages } from '../log/stored-messages.ts'
import { until } from '../../../eventually.ts'

const key = { tenant: 'acme', session: 's-1' }
/** Converts the name of a message (`m1`, `m2`, …) to its id, and an id to its name. */
const idOf = (name: string): string => `01K${name.slice(1).padStart(23, '0')}`
const nameOf = (id: string): string => `m${Number(id.slice(3))}`
const said = (name: string, text: string): Message => ({
  id: idOf(name),
  runId: 'r',
  role: 'user',
  agent: 'default',
  round: 0,
  createdAt: 0,
  parts: text === '' ? [] : [{ type: 'text', text }],
})

let folder: string
let path: string
let opened: Database[]
let reported: unknown[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-pending-'))
  path = join(folder, 'history.sqlite')
  opened = []
  reported = []
})
afterEach(async () => {
  expect(reported).toEqual([])
  for (const connection of opened) if (connection.isOpen) connection.close()
  await rm(folder, { recursive: true, force: true })
})

/** Opens a separate connection, which acts as another process. */
function open() {
  const database = openDatabase(path)
  opened.push(database)
  const projection = projectionOn({
    database,
    outputs: { read: () => Promise.reject(new Error('nothing here is offloaded')) },
    report: (error) => void reported.push(error),
  })
  const index = indexOn({ database, history: projection })
  return {
    database,
    projection,
    store(name: string, text: string) {
      storeMessages(database, key, [said(name, text)])
      projection.written()
    },
    find: async (text: string) =>
      (await index.search({ scope: key, text, filters: {}, limit: 10 })).hits.map(({ messageId }) => nameOf(messageId)),
    locate: (name: string) => index.locate(key, idOf(name)),
    pending: () => readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyMarks')?.n,
    indexed: () => readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyDocuments')?.n,
  }
}

describe('messages that are durable and not yet in the full-text tables', () => {
  test('are found at once, by every process', async () => {
    const [writer, reader] = [open(), open()]
    writer.store('m1', 'a zebra')
    expect(writer.pending()).toBe(1)
    expect(await reader.find('zebra')).toEqual(['m1'])
    expect(writer.pending()).toBe(0)
    writer.store('m2', 'a giraffe')
    expect(await reader.locate('m2')).toBe(key.session)
    expect(await writer.find('giraffe')).toEqual(['m2'])
  })

  test('are found after a crash', async () => {
    const crashed = open()
    crashed.store('m1', 'a zebra')
    crashed.database.close()
    expect(await open().find('zebra')).toEqual(['m1'])
  })

  test('disappear when their transaction is rolled back', async () => {
    const { database, store, find } = open()
    const undone = (): void =>
      transaction(database, () => {
        store('m1', 'a zebra')
        throw new Error('undone')
      })
    expect(undone).toThrow('undone')
    expect(await find('zebra')).toEqual([])
  })

  test('are found only by their latest text', async () => {
    const { store, find, indexed } = open()
    store('m1', 'a zebra')
    store('m1', 'a giraffe')
    expect(await find('zebra')).toEqual([])
    expect(await find('giraffe')).toEqual(['m1'])
    store('m1', 'a lion')
    store('m1', '')
    expect(await find('lion')).toEqual([])
    expect(await find('giraffe')).toEqual([])
    expect(indexed()).toBe(0)
  })

  test('can be removed, and the removal counts their documents', async () => {
    const { database, projection, store, find, pending } = open()
    store('m1', 'a zebra')
    store('m2', 'another zebra')
    await projection.merge()
    store('m1', 'a changed zebra')
    expect(pending()).toBe(1)
    expect(transaction(database, () => projection.remove(key, [idOf('m1')]))).toBe(1)
    dropMessages(database, key, [idOf('m1')])
    expect(pending()).toBe(0)
    expect(await find('zebra')).toEqual(['m2'])
  })

  test('enter the tables automatically after a moment without writes', async () => {
    const { store, pending, indexed } = open()
    for (let n = 0; n < 100; n++) store(`m${n}`, `zebra number${n}`)
    expect(pending()).toBe(100)
    await until(() => pending() === 0)
    expect(pending()).toBe(0)
    expect(indexed()).toBe(100)
  })

  test('do not accumulate during continuous writes', async () => {
    const { store, pending } = open()
    let most = 0
    for (let n = 0; n < 3_000; n++) {
      store(`m${n}`, `zebra number${n}`)
      most = Math.max(most, pending() ?? 0)
      if (n % 8 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(most).toBeGreaterThan(100)
    expect(most).toBeLessThan(2_000)
  })

  test('report an error if they cannot enter the tables, and remain pending until they can', async () => {
    const { database, store, find, pending } = open()
    store('m1', 'a zebra')
    database.exec('ALTER TABLE historyMessages RENAME TO elsewhere')
    await until(() => reported.length > 0)
    expect(reported.splice(0)).toEqual([expect.objectContaining({ code: 'storage_failed' })])
    await expect(find('zebra')).rejects.toMatchObject({ code: 'search_unavailable' })
    expect(pending()).toBe(1)
    database.exec('ALTER TABLE elsewhere RENAME TO historyMessages')
    expect(await find('zebra')).toEqual(['m1'])
  })

  test('are reported as missing if indexing takes longer than a search may wait', async () => {
    const { database, store, projection } = open()
    store('m1', 'a zebra')
    await projection.merge()
    const never = new Promise<void>(() => {})
    const clock = { sleep: async () => undefined }
    const index = createSqliteHistoryIndex({ database, history: { merge: () => never }, clock })
    const page = await index.search({ scope: key, text: 'zebra', filters: {}, limit: 10 })
    expect(page).toMatchObject({ hits: [{ messageId: idOf('m1') }], incomplete: true })
  })

  test('are not indexed after the database is closed', async () => {
    const { database, projection, store } = open()
    store('m1', 'a zebra')
    database.close()
    await sleep(300)
    await expect(projection.merge()).rejects.toMatchObject({ code: 'storage_failed' })
    expect(await open().find('zebra')).toEqual(['m1'])
  })
})
