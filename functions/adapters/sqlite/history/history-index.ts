import { TooltrailError } from '../../../domain/errors.ts'
import { parseQuery } from '../../../search/query.ts'
import type { HistoryIndex } from '../../../ports/history-index.ts'
import { readOne, snapshot, type Database } from '../database.ts'
import { findAudience } from './audiences.ts'
import { readCursor } from './cursor.ts'
import { firstPage, laterPage } from './pages.ts'
import type { HistoryProjection } from './projection.ts'
import { createVocabulary } from './vocabulary.ts'

interface Dependencies {
  readonly database: Database
  readonly history: Pick<HistoryProjection, 'merge'>
}

/** Searches the full-text tables of the log's own database: everything acknowledged before is found. */
export function createSqliteHistoryIndex({ database, history }: Dependencies): HistoryIndex {
  const vocabulary = createVocabulary(database)
  return {
    search(query) {
      return available(async () => {
        const parsed = parseQuery(query.text)
        const cursor = query.after === undefined ? undefined : readCursor(query, query.after)
        await history.merge()
        return snapshot(database, () => {
          const audience = findAudience(database, query.scope)
          if (audience === undefined) return { hits: [] }
          const search = { database, query, parsed, audience, vocabulary: vocabulary.of(audience) }
          return cursor === undefined ? firstPage(search) : laterPage(search, cursor)
        })
      })
    },
    locate(scope, messageId) {
      return available(async () => {
        await history.merge()
        return readOne<{ session: string }>(
          database,
          `SELECT session FROM historyMessages
           WHERE message = ? AND tenant = (SELECT id FROM historyTenants WHERE tenant = ?)
             AND owner IS coalesce(?, owner) AND session = coalesce(?, session)`,
          messageId,
          scope.tenant,
          scope.owner ?? null,
          scope.session ?? null,
        )?.session
      })
    },
  }
}

async function available<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'invalid_query') throw error
    throw new TooltrailError('search_unavailable', 'the history index cannot be read now: try again later', {
      retryable: true,
      cause: error,
    })
  }
}
