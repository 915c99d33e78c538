import { mergeMarked, type MergeDependencies } from './merge.ts'
import { createPendingMessages } from './pending-messages.ts'
import { createHistoryTables } from './tables.ts'

/** Updates the full-text tables to the state of the log. */
export interface HistoryMerger {
  /**
   * Indexes the messages that are marked as not yet indexed when `merge` is called: those of `tenant`, or of all
   * tenants if it is undefined. Rejects if the tables cannot be written.
   */
  merge(tenant: string | undefined): Promise<void>
  /** Stops indexing, and resolves when no work is in progress. The remaining messages stay marked. */
  close(): Promise<void>
}

/**
 * Creates a merger on this thread. Tenants are indexed concurrently, a few documents at a time, so that none waits for
 * the whole backlog of another.
 */
export function createHistoryMerger(
  dependencies: Omit<MergeDependencies, 'tables' | 'pending' | 'closed'>,
): HistoryMerger {
  const closing = new AbortController()
  const { database } = dependencies
  const state = { tables: createHistoryTables(database), pending: createPendingMessages(database) }
  const merging = { ...dependencies, ...state, closed: closing.signal }
  const running = new Map<string | undefined, Promise<void>>()
  return {
    /** Merges of one tenant run one after the other. A merge that has waited usually has little left to index. */
    merge(tenant) {
      const before = running.get(tenant) ?? Promise.resolve()
      const merged = before.catch(() => undefined).then(() => mergeMarked(merging, tenant))
      running.set(tenant, merged)
      const forget = (): void => {
        if (running.get(tenant) === merged) running.delete(tenant)
      }
      merged.then(forget, forget)
      return merged
    },
    async close() {
      closing.abort()
      await Promise.allSettled(running.values())
    },
  }
}
