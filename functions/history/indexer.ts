import type { Logger } from '../ports/logger.ts'
import type { RowChange, RowRecords } from '../ports/message-rows.ts'
import { indexMessages, type IndexDependencies } from './index-messages.ts'

const AGAIN = 'records are to be indexed again'

/** What a batch came to, as the sender of the records understands it: it goes on at the first of these. */
export interface BatchResult {
  readonly failed: readonly string[]
}

interface Dependencies<StoreRecord> extends IndexDependencies {
  readonly records: RowRecords<StoreRecord>
  readonly logger: Pick<Logger, 'warn'>
}

/**
 * Keeps the index in step with the store's records. Names the earliest record that failed: its sender goes on there, and what
 * is done twice by that does no harm.
 */
export function createIndexer<StoreRecord>(
  dependencies: Dependencies<StoreRecord>,
): (batch: readonly StoreRecord[]) => Promise<BatchResult> {
  const { records, logger } = dependencies
  return async (batch) => {
    const changes = batch.flatMap((record): { sequence: string; change: RowChange }[] => {
      const change = records.change(record)
      return change === undefined ? [] : [{ sequence: records.sequence(record), change }]
    })
    const first = changes[0]
    if (first === undefined) return { failed: [] }
    try {
      const failures = await indexMessages(
        dependencies,
        changes.map(({ change }) => change),
      )
      const at = failures.findIndex((failure) => failure !== undefined)
      const failed = changes[at]
      if (failed === undefined) return { failed: [] }
      logger.warn(AGAIN, { ...whose(failed.change), from: failed.sequence, error: failures[at]?.error })
      return { failed: [failed.sequence] }
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      logger.warn(AGAIN, { ...whose(first.change), from: first.sequence, error: text })
      return { failed: [first.sequence] }
    }
  }
}

/** The ids of what a change is about. */
function whose(change: RowChange): { readonly tenant: string; readonly session: string; readonly message_id: string } {
  const { key, messageId } = 'stored' in change ? change.stored : change.removed
  return { tenant: key.tenant, session: key.session, message_id: messageId }
}
