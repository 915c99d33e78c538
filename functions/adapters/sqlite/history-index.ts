import { TooltrailError } from '../../domain/errors.ts'
import { parseQuery } from '../../log/search-query.ts'
import type { HistoryIndex } from '../../ports/history-index.ts'
import { readOne, snapshot, type Database } from './database.ts'
import { readCursor } from './history-cursor.ts'
import { firstPage, laterPage } from './history-pages.ts'
import { mergeAll } from './history-pending.ts'
import { createVocabulary } from './history-vocabulary.ts'

/** Searches the full-text tables of the log's own database: everything acknowledged before is found. */
export function createSqliteHistoryIndex({ database }: { readonly database: Database }): HistoryIndex {
  const vocabulary = createVocabulary(database)
  return {
    async search(query) {
      return available(() => {
        const parsed = parseQuery(query.text)
        const cursor = query.after === undefined ? undefined : readCursor(query, query.after)
        mergeAll(database)
        return snapshot(database, () => {
          const search = { database, query, parsed, vocabulary: vocabulary.now() }
          return cursor === undefined ? firstPage(search) : laterPage(search, cursor)
        })
      })
    },
    async locate(scope, messageId) {
      return available(() => {
        mergeAll(database)
        return readOne<{ session: string }>(
          database,
          `SELECT session FROM historyMessages
           WHERE message = ? AND tenant = ? AND owner IS coalesce(?, owner) AND session = coalesce(?, session)`,
          messageId,
          scope.tenant,
          scope.owner ?? null,
          scope.session ?? null,
        )?.session
      })
    },
  }
}

function available<Answer>(work: () => Answer): Answer {
  try {
    return work()
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'invalid_query') throw error
    throw new TooltrailError('search_unavailable', 'the history index cannot be read now: try again later', {
      retryable: true,
      cause: error,
    })
  }
}
