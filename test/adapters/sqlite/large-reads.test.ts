import { expect, test } from 'vitest'
import { openDatabase } from '../../../functions/adapters/sqlite/database.ts'
import { createSqliteLogReader } from '../../../functions/adapters/sqlite/log/log-reader.ts'
import { writeLog } from '../../generators/messages.ts'
import { storeMessages } from './stored-messages.ts'

const READS = 8

test.each([
  ['large', 400_000, READS],
  ['short', 400, 0],
] as const)('others get their turn after each read of %s messages, %i characters each', async (_, length, turns) => {
  const database = openDatabase(':memory:')
  const key = { tenant: 'acme', session: 's' }
  const { log, user } = writeLog()
  user('x'.repeat(length))
  storeMessages(database, key, log)
  const reader = createSqliteLogReader({ database })
  let seen = 0
  let isReading = true
  const look = (): void => {
    if (!isReading) return
    seen++
    setImmediate(look)
  }
  setImmediate(look)
  for (let read = 0; read < READS; read += 2) {
    await reader.messages(key, { order: 'ascending', limit: 1 })
    await reader.message(key, log[0]?.id ?? '')
  }
  isReading = false
  expect(seen).toBeGreaterThanOrEqual(turns)
  expect(seen).toBeLessThanOrEqual(turns + 1)
  database.close()
})
