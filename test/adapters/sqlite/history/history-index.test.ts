/* Evidence, search: A search result does not change by a byte when other tenants or owners store texts. */
/* Evidence, search: A pointer to a message that is not indexed yet is not reported as missing. */
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { transaction, openDatabase } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../../../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryTables } from '../../../../functions/adapters/sqlite/history/documents/tables.ts'
import { document } from '../../../contracts/history-index-harness.ts'
import { historyIndexContract } from '../../../contracts/history-index.ts'

historyIndexContract('sqlite', async () => {
  const database = openDatabase(':memory:')
  const tables = createHistoryTables(database)
  return {
    index: createSqliteHistoryIndex({
      database,
      history: { merge: async () => undefined },
      clock: createSystemClock(),
    }),
    async store(documents) {
      for (const parts of Map.groupBy(documents, ({ messageId }) => messageId).values()) {
        const [first] = parts
        if (first === undefined) continue
        const { tenant, session, messageId } = first
        transaction(database, () => {
          tables.put((batch) => batch.replace({ tenant, session }, messageId, parts))
          tables.flushPendingWords()
        })
      }
    },
    breakDown: async () => database.close(),
    stop: async () => {},
  }
})

test('an unknown message is reported as missing only if the index is up to date', async () => {
  const database = openDatabase(':memory:')
  const tables = createHistoryTables(database)
  const stored = document('the crate is blue')
  const { tenant, session, messageId: known } = stored
  transaction(database, () => tables.put((batch) => batch.replace({ tenant, session }, known, [stored])))
  const unknown = '01JD0000000000000000000002'
  const never = (): Promise<void> => new Promise(() => {})
  const atOnce = async (): Promise<void> => undefined
  const behind = createSqliteHistoryIndex({ database, history: { merge: never }, clock: { sleep: atOnce } })
  await expect(behind.locate({ tenant }, unknown)).rejects.toMatchObject({ code: 'search_unavailable' })
  expect(await behind.locate({ tenant }, known)).toBe(session)
  const whole = createSqliteHistoryIndex({ database, history: { merge: atOnce }, clock: { sleep: never } })
  expect(await whole.locate({ tenant }, unknown)).toBeUndefined()
  database.close()
})
