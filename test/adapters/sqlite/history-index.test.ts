import { transaction, openDatabase } from '../../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../../functions/adapters/sqlite/history-index.ts'
import { createSqliteHistoryProjection } from '../../../functions/adapters/sqlite/history-writer.ts'
import { historyIndexContract } from '../../contracts/history-index.ts'

historyIndexContract('sqlite', async () => {
  const database = openDatabase(':memory:')
  const projection = createSqliteHistoryProjection({
    database,
    outputs: { read: () => Promise.reject(new Error('nothing here is offloaded')) },
    redact: (text) => Promise.resolve(text),
    report: (error) => {
      throw error
    },
  })
  return {
    index: createSqliteHistoryIndex({ database }),
    async store(documents) {
      for (const parts of Map.groupBy(documents, ({ messageId }) => messageId).values()) {
        const [first] = parts
        if (first === undefined) continue
        const { tenant, session, messageId } = first
        transaction(database, () => projection.write({ tenant, session }, [{ messageId, documents: parts }]))
      }
    },
    breakDown: async () => database.close(),
    stop: async () => {},
  }
})
