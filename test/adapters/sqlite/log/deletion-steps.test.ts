import { expect, test } from 'vitest'
import { openDatabase, readAll, readOne, write } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteSessionDeletion } from '../../../../functions/adapters/sqlite/log/sessions/session-deletion.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { projectionOn } from '../history/projection.ts'
import { storeMessages } from './stored-messages.ts'

const key = { tenant: 'acme', session: 's-1' }
/** The index makes about 60 documents of this text. */
const LONG = 'row after row of the manifest\n'.repeat(8_000)
const said = (number: number, text: string): Message => ({
  id: `01K${String(number).padStart(23, '0')}`,
  runId: 'r',
  role: 'user',
  agent: 'default',
  round: 0,
  createdAt: 0,
  parts: [{ type: 'text', text }],
})

interface Column {
  readonly name: string
  readonly type: string
  readonly notnull: 0 | 1
}

test('a deletion leaves no rows of the session except the record of the deletion', async () => {
  const database = openDatabase(':memory:')
  const outputs = { read: () => Promise.reject(new Error('nothing here is offloaded')) }
  const history = projectionOn({ database, outputs, report: (error) => expect.unreachable(String(error)) })
  storeMessages(database, key, [said(1, 'short')])
  await history.merge()
  const { number = 0 } = readOne<{ number: number }>(database, 'SELECT number FROM sessions') ?? {}
  const named = readAll<{ name: string }>(database, "SELECT name FROM sqlite_schema WHERE type = 'table'")
  const tables = named.flatMap(({ name }) => {
    const columns = readAll<Column>(database, `SELECT name, type, "notnull" FROM pragma_table_info('${name}')`)
    return columns.some((one) => one.name === 'session' && one.type === 'INTEGER') ? [{ name, columns }] : []
  })
  const left = () =>
    tables.flatMap(({ name }) => (readOne(database, `SELECT 1 FROM ${name} WHERE session = ?`, number) ? [name] : []))
  for (const { name, columns } of tables.filter((one) => one.name !== 'deletions' && !left().includes(one.name))) {
    const filled = columns.filter((one) => one.notnull === 1 || one.name === 'session').map((one) => one.name)
    const values = filled.map((one) => (one === 'session' ? number : 1))
    write(database, `INSERT INTO ${name} (${filled.join()}) VALUES (${filled.map(() => '?').join()})`, ...values)
  }
  expect(left()).toEqual(expect.arrayContaining(['claims', 'contexts', 'messages', 'names', 'runs', 'sources']))
  const deletion = createSqliteSessionDeletion({ database, clock: createManualClock(), history })
  await deletion.tombstone(key)
  while ((await deletion.removeRows(key, 100)).more);
  expect(left()).toEqual(['deletions'])
  database.close()
})

test('a step of a deletion removes a bounded number of documents, however many rows it may remove', async () => {
  const database = openDatabase(':memory:')
  const outputs = { read: () => Promise.reject(new Error('nothing here is offloaded')) }
  const history = projectionOn({ database, outputs, report: (error) => expect.unreachable(String(error)) })
  storeMessages(database, key, [said(1, LONG), ...Array.from({ length: 100 }, (_, place) => said(2 + place, 'short'))])
  const deletion = createSqliteSessionDeletion({ database, clock: createManualClock(), history })
  await history.merge()
  await deletion.tombstone(key)
  const steps: number[] = []
  for (let [more, before] = [true, 0]; more;) {
    ;({ more } = await deletion.removeRows(key, 500))
    const { documents = 0 } = (await deletion.state(key)) ?? {}
    steps.push(documents - before)
    before = documents
  }
  const state = await deletion.state(key)
  expect(state).toMatchObject({ messages: 101 })
  expect(state?.documents).toBeGreaterThan(150)
  expect(Math.max(...steps)).toBeLessThanOrEqual(16)
  database.close()
})
