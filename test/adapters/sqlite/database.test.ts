import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  openDatabase,
  readAll,
  readOne,
  snapshot,
  transaction,
  write,
} from '../../../functions/adapters/sqlite/database.ts'
import { migrate } from '../../../functions/adapters/sqlite/migrations.ts'

const DATABASE_MODULE = new URL('../../../functions/adapters/sqlite/database.ts', import.meta.url).href
const insertKey = 'INSERT INTO api_keys (hash, id, tenant, createdAt, body) VALUES (?, ?, ?, ?, ?)'

describe('a database file', () => {
  let folder: string
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'tooltrail-database-'))))
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('is initialised once when processes open it at the same moment', async () => {
    const path = join(folder, 'raced.sqlite')
    const program = `
      const { openDatabase, transaction, write } = await import(${JSON.stringify(DATABASE_MODULE)})
      const [path, name, at] = process.argv.slice(1)
      while (Date.now() < Number(at));
      const database = openDatabase(path)
      transaction(database, () => write(database, ${JSON.stringify(insertKey)}, name, name, 't', 0, '{}'))`
    // A start time by which every process has loaded the module, so that all open the file at once.
    const at = Date.now() + 1_500
    const run = promisify(execFile)
    const processes = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
      run(process.execPath, ['--input-type=module', '-e', program, path, name, String(at)]),
    )
    await Promise.all(processes)
    const database = openDatabase(path)
    expect(readAll(database, 'SELECT id FROM api_keys ORDER BY id')).toHaveLength(6)
    database.close()
  })

  test('keeps every commit through a power cut, because its write-ahead log is synced at each commit', () => {
    const database = openDatabase(join(folder, 'durable.sqlite'))
    expect(readOne(database, 'PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' })
    expect(readOne(database, 'PRAGMA synchronous')).toEqual({ synchronous: 2 })
    database.close()
  })

  test('is refused and stays unchanged if a newer program wrote it', () => {
    const path = join(folder, 'newer.sqlite')
    const database = openDatabase(path)
    database.exec('PRAGMA user_version = 99')
    database.close()
    expect(() => openDatabase(path)).toThrow(/its version is 99/)
  })

  test('takes no write of an older program after a newer program has upgraded it', () => {
    const path = join(folder, 'upgraded.sqlite')
    const [older, newer] = [openDatabase(path), openDatabase(path)]
    newer.exec('PRAGMA user_version = 99')
    const add = () => write(older, insertKey, 'h', 'k', 't', 0, '{}')
    expect(() => transaction(older, add)).toThrow(/upgraded the database from version \d+ to 99: restart/)
    expect(readAll(newer, 'SELECT id FROM api_keys')).toEqual([])
    older.close()
    newer.close()
  })

  test('from before the first release is refused with advice, and stays unchanged', () => {
    const path = join(folder, 'older.sqlite')
    const before = openDatabase(path)
    before.exec('PRAGMA application_id = 0; PRAGMA user_version = 1')
    before.close()
    expect(() => openDatabase(path)).toThrow(/before the first release: move it away/)
    expect(() => openDatabase(path)).toThrow(/before the first release/)
  })

  test('keeps its previous version if a migration fails', () => {
    const database = openDatabase(join(folder, 'failing.sqlite'))
    const version = readOne(database, 'PRAGMA user_version')
    const steps = Array.from({ length: 50 }, () => 'CREATE TABLE half (a)')
    expect(() => migrate(database, [...steps, 'CREATE TABLE broken ('])).toThrow(/already exists|incomplete/)
    expect(readOne(database, 'PRAGMA user_version')).toEqual(version)
    expect(readAll(database, `SELECT name FROM sqlite_schema WHERE name = 'half'`)).toEqual([])
    database.close()
  })

  test('is refused with a reason if it is no database', () => {
    expect(() => openDatabase(DATABASE_MODULE.replace('file://', ''))).toThrow(/not a database/)
  })

  test('that another process keeps locked fails a write with a retryable error', () => {
    const path = join(folder, 'busy.sqlite')
    const [first, second] = [openDatabase(path), openDatabase(path)]
    second.exec('PRAGMA busy_timeout = 20')
    first.exec('BEGIN IMMEDIATE')
    expect(() => transaction(second, () => undefined)).toThrow(
      expect.objectContaining({ code: 'storage_failed', retryable: true }),
    )
    first.exec('COMMIT')
    expect(transaction(second, () => 'done')).toBe('done')
    first.close()
    second.close()
  })

  test('on a full disk fails a write with a retryable error, and stores nothing of its transaction', () => {
    const database = openDatabase(join(folder, 'full.sqlite'))
    database.exec(
      `PRAGMA max_page_count = ${Number(readOne<{ page_count: number }>(database, 'PRAGMA page_count')?.page_count) + 2}`,
    )
    const fill = (): void => {
      for (let n = 0; n < 100; n++) write(database, insertKey, `h${n}`, `k${n}`, 't', 0, 'x'.repeat(4_000))
    }
    expect(() => transaction(database, fill)).toThrow(
      expect.objectContaining({ code: 'storage_failed', retryable: true }),
    )
    expect(readAll(database, 'SELECT id FROM api_keys')).toEqual([])
    database.close()
  })

  test('offers snapshots that do not show later commits of another process', () => {
    const path = join(folder, 'snapshot.sqlite')
    const [reader, writer] = [openDatabase(path), openDatabase(path)]
    const count = (): unknown => readOne(reader, 'SELECT count(*) AS count FROM api_keys')
    const [before, after] = snapshot(reader, () => {
      const seen = count()
      transaction(writer, () => write(writer, insertKey, 'h', 'k', 't', 0, '{}'))
      return [seen, count()]
    })
    expect(after).toEqual(before)
    expect(count()).toEqual({ count: 1 })
    reader.close()
    writer.close()
  })
})

describe('a transaction', () => {
  test('that throws stores nothing and rethrows the same error', () => {
    const database = openDatabase(':memory:')
    const reason = new Error('no')
    const work = (): never => {
      write(database, insertKey, 'h', 'k', 't', 0, '{}')
      throw reason
    }
    expect(() => transaction(database, work)).toThrow(reason)
    expect(readAll(database, 'SELECT id FROM api_keys')).toEqual([])
  })

  test('that breaks a constraint fails with a storage error that is not retryable', () => {
    const database = openDatabase(':memory:')
    const twice = (): void => {
      write(database, insertKey, 'h', 'k', 't', 0, '{}')
      write(database, insertKey, 'h', 'k', 't', 0, '{}')
    }
    expect(() => transaction(database, twice)).toThrow(
      expect.objectContaining({ code: 'storage_failed', retryable: false }),
    )
  })

  test('on a closed database fails with a storage error', () => {
    const database = openDatabase(':memory:')
    database.close()
    expect(() => transaction(database, () => undefined)).toThrow(expect.objectContaining({ code: 'storage_failed' }))
  })
})
