/* Evidence, durability: On one machine, no file contains texts of a deleted session some seconds after its deletion. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { openDatabase } from '../../../functions/adapters/sqlite/database.ts'
import { continueDeletion } from '../../../functions/agent/worker/delete-session.ts'
import { DATABASE } from '../../../functions/runtime/local/private-data.ts'
import { openHarness } from '../../agent/harness.ts'
import type { Harness } from '../../agent/harness.ts'

let harness: Harness
afterEach(() => harness.close())

/** Remains of the secret in the database's file. */
function residue(): string[] {
  const path = join(harness.folder, DATABASE)
  const database = openDatabase(path)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  return readFileSync(path, 'latin1').match(/[a-z]*qzxq/gi) ?? []
}

test('deleted data is overwritten in the file, and a rebuild removes its words from the index', async () => {
  harness = await openHarness({ script: [{ text: `ANSWERQZXQ ${'LONGQZXQ '.repeat(5_000)}` }] })
  const { ports, key } = harness
  await harness.settled(await harness.submit('say INPUTQZXQ to them'))
  await ports.index.search({ scope: { tenant: key.tenant }, text: 'inputqzxq', filters: {}, limit: 1 })
  expect(residue()).toContain('INPUTQZXQ')
  await ports.deletion.tombstone(key)
  await continueDeletion(ports, key, Number.POSITIVE_INFINITY)
  // The remains are whole words of the index, in lower case, and never a text.
  expect(residue().filter((word) => word !== word.toLowerCase())).toEqual([])
  await harness.rebuildHistory()
  expect(residue()).toEqual([])
})

test('no file of the data folder contains deleted text soon after the deletion, while the program runs', async () => {
  harness = await openHarness({ script: [{ text: `ANSWERQZXQ ${'LONGQZXQ '.repeat(5_000)}` }] })
  const { ports, key, folder } = harness
  const files = (): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile())
  const texts = (): string[] => files().flatMap((path) => readFileSync(path, 'latin1').match(/[A-Z]+QZXQ/g) ?? [])
  await harness.settled(await harness.submit('say INPUTQZXQ to them'))
  await ports.index.search({ scope: { tenant: key.tenant }, text: 'inputqzxq', filters: {}, limit: 1 })
  // Another program reads the file. The deletion does not wait for that read. The write-ahead log is truncated after the read.
  const reader = openDatabase(join(folder, DATABASE))
  const rows = reader.prepare('SELECT * FROM messages').iterate()
  rows.next()
  await ports.deletion.tombstone(key)
  await continueDeletion(ports, key, Number.POSITIVE_INFINITY)
  await sleep(3_000)
  expect(texts()).not.toEqual([])
  rows.return?.()
  reader.close()
  await expect.poll(texts, { timeout: 20_000, interval: 200 }).toEqual([])
})
