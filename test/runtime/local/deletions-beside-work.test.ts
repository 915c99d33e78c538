/* Evidence, search: After deletions in any order, beside searches and rebuilds, the index has no row of a deleted session. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDatabase, write } from '../../../functions/adapters/sqlite/database.ts'
import { openLocalPorts } from '../../../functions/runtime/local/ports.ts'
import { leftovers } from '../../adapters/sqlite/history/history-faults.ts'
import { storeMessages } from '../../adapters/sqlite/log/stored-messages.ts'
import { writeLog } from '../../generators/messages.ts'

const COUNT = 12
const LONG = 'lorem ipsum and whales\n'.repeat(1_500)
const keyOf = (place: number) => ({ tenant: 'acme', session: `s-${place}` })

let folder: string
let ports: ReturnType<typeof openLocalPorts>
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tooltrail-beside-'))
  ports = openLocalPorts({ dataFolder: folder, logLevel: 'silent', modelSettings: {} })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Stores sessions of five owners, each with a short and a long message. Some of the messages are indexed. */
async function fill(): Promise<void> {
  const database = openDatabase(join(folder, 'tooltrail.db'))
  for (let place = 0; place < COUNT; place++) {
    const key = keyOf(place)
    await ports.sessions.create({ ...key, agent: 'default', owner: `owner${place % 5}@example.com`, metadata: {} })
    const [first, second] = writeLog().user(`word${place} first`).user(`word${place} second ${LONG}`).log
    if (first === undefined || second === undefined) throw new RangeError('no messages')
    storeMessages(database, key, [first])
    if (place % 2 === 0) await search('first')
    storeMessages(database, key, [second])
  }
  write(database, 'DELETE FROM runs')
  database.close()
}

const search = (text: string) =>
  ports.index.search({ scope: { tenant: 'acme' }, text, filters: {}, limit: 5 }).then(({ hits }) => hits)

async function remove(place: number): Promise<void> {
  await ports.deletion.tombstone(keyOf(place))
  while ((await ports.deletion.removeRows(keyOf(place), 500)).more);
  await ports.deletion.markRemoved(keyOf(place), 0)
}

/** Stops the program. Returns the tables of its database that still have rows. */
async function left(): Promise<string[]> {
  await ports.close()
  const database = openDatabase(join(folder, 'tooltrail.db'))
  try {
    return leftovers(database)
  } finally {
    database.close()
  }
}

test('deletions during searches leave no row of an owner', async () => {
  await fill()
  for (let place = 0; place < COUNT; place++) await Promise.all([remove(place), search('second'), search('lorem')])
  expect(await left()).toEqual([])
})

test('deletions during rebuilds leave no row of an owner', async () => {
  await fill()
  let next = 0
  const rebuilt = (async () => {
    while (next < COUNT) await ports.rebuildHistory()
  })()
  for (; next < COUNT; next++) {
    await remove(next)
    await search('whales')
  }
  await rebuilt
  expect(await left()).toEqual([])
})
