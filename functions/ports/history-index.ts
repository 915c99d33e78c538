import type { HistoryPage, HistoryQuery, HistoryScope } from '../domain/history.ts'

/**
 * Search over messages and tool calls. Rejects with `search_unavailable` if it cannot search, never with an empty page,
 * and with `invalid_query` for a cursor that it did not issue.
 */
export interface HistoryIndex {
  search(query: HistoryQuery): Promise<HistoryPage>
  /**
   * The session of a message, if the scope may see it. Where the index knows that it is behind the log, a message that is not
   * found rejects with `search_unavailable`: it may be there.
   */
  locate(scope: HistoryScope, messageId: string): Promise<string | undefined>
}
