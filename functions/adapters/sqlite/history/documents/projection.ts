import type { SessionKey } from '../../../../domain/session.ts'
import { readOne, reading, type Database } from '../../database.ts'
import type { HistoryMerger } from './merger.ts'
import { createHistoryTables, type Removed } from './tables.ts'

/** Nothing written for so many milliseconds: a model is being waited for, or nobody is there. */
const IDLE_MS = 100
/** After so many writes the index is brought up to date even while others go on: bounds what a search has to wait for. */
const MAX_WRITES = 256

/**
 * Keeps the full-text tables in step with the log. A write of the log marks its messages in its own transaction; they are
 * indexed in batches, which is much cheaper than one by one: when nothing was written for a moment, when many wait, and always
 * before a search reads.
 */
export interface HistoryProjection {
  /** Call after every write of messages, and when the program starts. Nothing is lost when indexing fails later: the marks stay. */
  written(): void
  /** Indexes what was written before, by any process, of this tenant or of all. Rejects when the tables cannot be written. */
  merge(tenant?: string): Promise<void>
  /** Inside the caller's transaction: removes what the tables have of these messages; returns how many documents. */
  remove(key: SessionKey, messageIds: readonly string[]): number
  /** The same for so many documents of one message; returns whether it has more. Undefined if the tables have nothing of it. */
  removeSome(key: SessionKey, messageId: string, limit: number): Removed | undefined
  /** Stops indexing; resolves when nothing is in progress. What is left stays marked, for the next program. */
  close(): Promise<void>
}

interface Dependencies {
  readonly database: Database
  readonly merger: HistoryMerger
  /** Gets the reason why nothing could be indexed while nobody waited for it. */
  readonly report: (error: unknown) => void
}

/** The projection of the log in `database`, into tables of the same database. */
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
