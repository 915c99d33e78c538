import type { HistoryPage, HistoryQuery, HistoryScope } from '../domain/history.ts'

/**
 * Search over what was said and done. Rejects with `search_unavailable` when it cannot search, instead of returning
 * an empty page, and with `invalid_query` for a cursor that it did not give out.
 */
export interface HistoryIndex {
  search(query: HistoryQuery): Promise<HistoryPage>
  /** The session that holds a message, when the scope may see it. */
  locate(scope: HistoryScope, messageId: string): Promise<string | undefined>
}
