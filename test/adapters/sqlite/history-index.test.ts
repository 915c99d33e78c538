import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { transaction, openDatabase } from '../../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../../functions/adapters/sqlite/history/history-index.ts'
import { createHistoryTables } from '../../../functions/adapters/sqlite/history/tables.ts'
import { historyIndexContract } from '../../contracts/history-index.ts'

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
        transaction(database, () => tables.put((batch) => batch.replace({ tenant, session }, messageId, parts)))
      }
    },
    breakDown: async () => database.close(),
    stop: async () => {},
  }
})
