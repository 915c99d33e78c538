import type { SessionKey } from '../../../../domain/session.ts'
import { readOne, reading, type Database } from '../../database.ts'
import type { HistoryMerger } from './merger.ts'
import { createHistoryTables, type Removed } from './tables.ts'

/** Time without writes after which indexing starts. The program is then waiting for a model, or idle. */
const IDLE_MS = 100
/**
 * Number of writes after which indexing starts even if writing continues. This limits how long a search must wait for
 * indexing.
 */
const MAX_WRITES = 256

/**
 * Updates the full-text tables after changes of the log. A write to the log marks its messages in its own transaction.
 * Marked messages are indexed in batches, which is much cheaper than one by one. Indexing starts after a short time
 * without writes, when many messages are marked, and always before a search reads.
 */
export interface HistoryProjection {
  /**
   * Call it after every write of messages, and when the program starts. If indexing fails later, nothing is lost,
   * because the marks remain.
   */
  written(): void
  /**
   * Indexes everything that any process has written before this call, for this tenant or for all. Rejects if the tables
   * cannot be written.
   */
  merge(tenant?: string): Promise<void>
  /**
   * Removes these messages from the tables, and returns how many documents were removed. Call it inside a transaction.
   */
  remove(key: SessionKey, messageIds: readonly string[]): number
  /**
   * Removes up to `limit` documents of one message, and returns whether more remain. Returns undefined if the tables
   * have no documents of the message. Call it inside a transaction.
   */
  removeSome(key: SessionKey, messageId: string, limit: number): Removed | undefined
  /**
   * Stops indexing, and resolves when no work is in progress. The remaining messages stay marked for the next program.
   */
  close(): Promise<void>
}

interface Dependencies {
  readonly database: Database
  readonly merger: HistoryMerger
  /** Receives the reason why indexing in the background failed. */
  readonly report: (error: unknown) => void
}

/** Creates the projection of the log in `database` into tables of the same database. */
export function createSqliteHistoryProjection({ database, merger, report }: Dependencies): HistoryProjection {
  const tables = createHistoryTables(database)
  let timer: NodeJS.Timeout | undefined
  let waiting = 0
  let closed = false

  async function merge(tenant: string | undefined): Promise<void> {
    if (isMarked(database, tenant)) await merger.merge(tenant)
  }

  function mergeIdle(): void {
    timer = undefined
    waiting = 0
    merge(undefined).catch((error: unknown) => {
      if (!closed && database.isOpen) report(error)
    })
  }

  return {
    merge,
    written() {
      if (closed) return
      waiting++
      if (timer === undefined) timer = setTimeout(mergeIdle, IDLE_MS).unref()
      else if (waiting < MAX_WRITES) timer.refresh()
    },
    removeSome: tables.removeSome,
    remove: (key, messageIds) => messageIds.reduce((removed, messageId) => removed + tables.remove(key, messageId), 0),
    async close() {
      closed = true
      clearTimeout(timer)
      await merger.close()
    },
  }
}

function isMarked(database: Database, tenant: string | undefined): boolean {
  const marks = 'SELECT 1 FROM historyMarks'
  return reading(database, () =>
    tenant === undefined
      ? readOne(database, `${marks} LIMIT 1`) !== undefined
      : readOne(database, `${marks} WHERE tenant = ? LIMIT 1`, tenant) !== undefined,
  )
}
