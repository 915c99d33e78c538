import type { HistoryPage, HistoryQuery, HistoryScope } from '../domain/history.ts'

/**
 * Searches messages and tool calls. Rejects with `search_unavailable` if it cannot search, and never returns an empty
 * page instead. Rejects with `invalid_query` for a cursor that it did not issue.
 */
export interface HistoryIndex {
  search(query: HistoryQuery): Promise<HistoryPage>
  /**
   * Finds the session of a message. Undefined if the message does not exist, or if the scope excludes its session. If the index
   * is known to be behind the log, rejects with `search_unavailable` for a message that is not indexed.
   */
  locate(scope: HistoryScope, messageId: string): Promise<string | undefined>
  /**
   * Whether the tenant may have superseded entries in the index. Returns false only if none of the entries that earlier
   * searches could find is superseded.
   */
  hasSuperseded(tenant: string): Promise<boolean>
}
