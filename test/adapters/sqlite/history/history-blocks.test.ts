/* Evidence, search: A step of a deletion writes a bounded part of the full-text tables. */
import { mkdtemp, rm } from 'node:fs/promises'
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase, transaction, write } from '../../../../functions/adapters/sqlite/database.ts'

const DOCUMENTS = 20_000
/** Number of documents that one transaction adds, and number that one removes. */
const ADDED = 32
const REMOVED = 16

test('a step of a deletion writes a bounded part of the full-text tables, however many documents they have', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-blocks-'))
  const path = join(folder, 'tooltrail.db')
  const database = openDatabase(path)
  database.exec('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0')
  let seed = 1
  const word = (): string => {
    seed = (seed * 48_271) % 2_147_483_647
    return `w${(seed % 20_000).toString(36)}`
  }
  /** Returns the maximum number of bytes that one transaction writes. `count`: number of documents per transaction. */
  const writing = (count: number, each: (rowid: number) => void): number => {
    let most = 0
    for (let first = 1; first <= DOCUMENTS; first += count) {
      const before = statSync(`${path}-wal`).size
      transaction(database, () => {
        for (let rowid = first; rowid < first + count; rowid++) each(rowid)
      })
      most = Math.max(most, statSync(`${path}-wal`).size - before)
    }
    return most
  }
  writing(ADDED, (rowid) => {
    const body = Array.from({ length: 20 }, word).join(' ')
    const sql = 'INSERT INTO historyWords (rowid, tool, call, body, extra, scope) VALUES (?, ?, ?, ?, ?, ?)'
    write(database, sql, rowid, '', '', body, '', 'tenant session')
  })
  const most = writing(REMOVED, (rowid) => void write(database, 'DELETE FROM historyWords WHERE rowid = ?', rowid))
  database.close()
  await rm(folder, { recursive: true, force: true })
  // A measurement gave 1.45 MB, or 2.39 MB with pages of the default size.
  expect(most).toBeLessThan(1_900_000)
})
