/* Evidence, limits: Large reads of a log yield to other work. A search reads only the messages next to each hit. */
import { expect, test } from 'vitest'
import { openDatabase } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteLogReader } from '../../../../functions/adapters/sqlite/log/messages/log-reader.ts'
import { writeLog } from '../../../generators/messages.ts'
import { storeMessages } from './stored-messages.ts'

const READS = 8

async function oneAfterAnother(times: number, work: () => Promise<void>): Promise<void> {
  for (let time = 0; time < times; time++) await work()
}

test.each([
  ['large', 400_000, false, READS],
  ['large', 400_000, true, READS],
  ['short', 400, true, 0],
] as const)(
  'other work proceeds between reads of %s messages of %i characters (all read at once: %j)',
  async (...given) => {
    const [, length, isAtOnce, turns] = given
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
    const read = async (): Promise<void> => {
      await reader.messages(key, { order: 'ascending', limit: 1 })
      await reader.message(key, log[0]?.id ?? '')
    }
    await (isAtOnce ? Promise.all(Array.from({ length: READS / 2 }, read)) : oneAfterAnother(READS / 2, read))
    isReading = false
    expect(seen).toBeGreaterThanOrEqual(turns)
    expect(seen).toBeLessThanOrEqual(2 * turns + 1)
    database.close()
  },
)
