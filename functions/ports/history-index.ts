import type { HistoryPage, HistoryQuery, HistoryScope } from '../domain/history.ts'

/**
 * Searches messages and tool calls. Rejects with `search_unavailable` if it cannot search, and never returns an empty
 * page instead. Rejects with `invalid_query` for a cursor that it did not issue.
 */
export interface HistoryIndex {
  search(query: HistoryQuery): Promise<HistoryPage>
  /**
   * Finds the session of a message, if the scope may see it; otherwise undefined. If the index is known to be behind
   * the log, a missing message rejects with `search_unavailable`, because it may exist.
   */
  locate(scope: HistoryScope, messageId: string): Promise<string | undefined>
}
