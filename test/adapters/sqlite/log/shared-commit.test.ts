import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDatabase, readAll, readOne, write, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import { sharedTransaction } from '../../../../functions/adapters/sqlite/log/shared-commit.ts'

const INSERT = 'INSERT INTO api_keys (hash, id, tenant, createdAt, body) VALUES (?, ?, ?, ?, ?)'

let folder: string
let database: Database
let watcher: Database
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-shared-'))
  database = openDatabase(join(folder, 'shared.sqlite'))
  watcher = openDatabase(join(folder, 'shared.sqlite'))
})
afterEach(async () => {
  for (const connection of [database, watcher]) if (connection.isOpen) connection.close()
  await rm(folder, { recursive: true, force: true })
})

const insert = (id: string): void => void write(database, INSERT, id, id, 't', 0, '{}')
const stored = (): string[] =>
  readAll<{ id: string }>(watcher, 'SELECT id FROM api_keys ORDER BY id').map(({ id }) => id)

describe('writes of one event-loop tick', () => {
  test('share one commit, and each is durable when its promise resolves', async () => {
    const seen: string[][] = []
    await Promise.all(
      ['a', 'b', 'c'].map(async (id) => {
        await Promise.resolve()
        await sharedTransaction(database, () => insert(id))
        seen.push(stored())
      }),
    )
    expect(seen).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
  })

  test('share one commit if they are requested in callbacks of different timers', async () => {
    const seen: string[][] = []
    const writeLater = (id: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const insertAndSee = (): Promise<void> =>
          sharedTransaction(database, () => insert(id)).then(() => void seen.push(stored()))
        setTimeout(() => void insertAndSee().then(resolve, reject), 1)
      })
    await Promise.all(['a', 'b'].map(writeLater))
    expect(seen).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  test('do not wait for the writes of a later tick', async () => {
    const order: string[] = []
    const first = sharedTransaction(database, () => insert('a')).then(() => order.push('a is durable'))
    await new Promise((resolve) => setImmediate(resolve))
    order.push('next turn')
    await first
    expect(order).toEqual(['a is durable', 'next turn'])
  })

  test('are rolled back individually if they throw, and rethrow their errors', async () => {
    const reason = new Error('no')
    const work = (): never => {
      insert('b')
      throw reason
    }
    const broken = (): void => {
      insert('c')
      insert('c')
    }
    const ended = await Promise.allSettled([
      sharedTransaction(database, () => insert('a')),
      sharedTransaction(database, work),
      sharedTransaction(database, broken),
      sharedTransaction(database, () => insert('d')),
    ])
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    expect(ended[1]).toMatchObject({ reason })
    expect(ended[2]).toMatchObject({ reason: { code: 'storage_failed', retryable: false } })
    expect(stored()).toEqual(['a', 'd'])
  })

  test('all fail and store nothing if the disk is full', async () => {
    const { page_count: pages = 0 } = readOne<{ page_count: number }>(database, 'PRAGMA page_count') ?? {}
    database.exec(`PRAGMA max_page_count = ${pages + 2}`)
    const fill = (name: string) => (): void => {
      for (let n = 0; n < 60; n++) write(database, INSERT, name + n, name + n, 't', 0, 'x'.repeat(4_000))
    }
    const ended = await Promise.allSettled(['a', 'b'].map((name) => sharedTransaction(database, fill(name))))
    for (const end of ended) expect(end).toMatchObject({ reason: { code: 'storage_failed', retryable: true } })
    expect(stored()).toEqual([])
  })

  test('all fail on a closed database', async () => {
    const ended = Promise.allSettled(['a', 'b'].map((id) => sharedTransaction(database, () => insert(id))))
    database.close()
    for (const end of await ended) expect(end).toMatchObject({ reason: { code: 'storage_failed' } })
  })
})
