import { mergeMarked, type MergeDependencies } from './merge.ts'
import { createPendingMessages } from './pending-messages.ts'
import { createHistoryTables } from './tables.ts'

/** Brings the full-text tables up to what the log says. */
export interface HistoryMerger {
  /** Indexes what was marked before, of this tenant or of all. Rejects when the tables cannot be written. */
  merge(tenant: string | undefined): Promise<void>
  /** Stops indexing; resolves when nothing is in progress. What is left stays marked. */
  close(): Promise<void>
}

/** Indexes on this thread. Tenants go side by side, a few documents at a time: none waits for all that another has written. */
export function createHistoryMerger(
  dependencies: Omit<MergeDependencies, 'tables' | 'pending' | 'closed'>,
): HistoryMerger {
  const closing = new AbortController()
  const { database } = dependencies
  const state = { tables: createHistoryTables(database), pending: createPendingMessages(database) }
  const merging = { ...dependencies, ...state, closed: closing.signal }
  const running = new Map<string | undefined, Promise<void>>()
  return {
    /** One after the other for each tenant: a later one has little left to do. */
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
