/* Evidence, search: The next program indexes at its start what a killed one had left. */
/* Evidence, durability: On one machine, no file has a text of a deleted session some seconds later. */
import { statSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDatabase, readOne } from '../../../functions/adapters/sqlite/database.ts'
import { openLocalPorts } from '../../../functions/runtime/local/ports.ts'
import { DATABASE } from '../../../functions/runtime/local/private-data.ts'
import { storeMessages } from '../../adapters/sqlite/log/stored-messages.ts'
import { until } from '../../eventually.ts'
import { writeLog } from '../../generators/messages.ts'

let dataFolder: string
beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'tooltrail-ports-'))
})
afterEach(() => rm(dataFolder, { recursive: true, force: true }))

test('what a killed program has not indexed is indexed by the next, before anybody writes or searches', async () => {
  const killed = openDatabase(join(dataFolder, DATABASE))
  storeMessages(killed, { tenant: 'acme', session: 's' }, writeLog().user('zebra').log)
  const left = () => readOne<{ n: number }>(killed, 'SELECT count(*) AS n FROM historyMarks')?.n
  expect(left()).toBe(1)
  const ports = openLocalPorts({ dataFolder, logLevel: 'error', modelSettings: {} })
  try {
    await until(() => left() === 0)
  } finally {
    await ports.close()
    killed.close()
  }
})

test('the write-ahead log that a killed program has left is emptied soon after the start of the next', async () => {
  const killed = openDatabase(join(dataFolder, DATABASE))
  storeMessages(killed, { tenant: 'acme', session: 's' }, writeLog().user('zebra').log)
  const left = join(dataFolder, 'left')
  for (const file of [DATABASE, `${DATABASE}-wal`]) await cp(join(dataFolder, file), join(left, file))
  killed.close()
  const ports = openLocalPorts({ dataFolder: left, logLevel: 'error', modelSettings: {} })
  try {
    const size = () => statSync(join(left, `${DATABASE}-wal`)).size
    expect(size()).toBeGreaterThan(0)
    await expect.poll(size).toBe(0)
  } finally {
    await ports.close()
  }
})
