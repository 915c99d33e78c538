import { expect, test } from 'vitest'
import { openDatabase } from '../../../functions/adapters/sqlite/database.ts'
import { createSqliteSessionDeletion } from '../../../functions/adapters/sqlite/log/session-deletion.ts'
import type { Message } from '../../../functions/domain/message.ts'
import { createManualClock } from '../../contracts/stores.ts'
import { projectionOn } from './projection.ts'
import { storeMessages } from './stored-messages.ts'

const key = { tenant: 'acme', session: 's-1' }
/** Some 60 documents. */
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

test('a step of a deletion removes a bounded number of documents, however many rows it may remove', async () => {
  const database = openDatabase(':memory:')
  const outputs = { read: () => Promise.reject(new Error('nothing here is offloaded')) }
  const history = projectionOn({ database, outputs, report: (error) => expect.unreachable(String(error)) })
  storeMessages(database, key, [said(1, LONG), ...Array.from({ length: 100 }, (_, place) => said(2 + place, 'short'))])
  const deletion = createSqliteSessionDeletion({ database, clock: createManualClock(), history })
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
