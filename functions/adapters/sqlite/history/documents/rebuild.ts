import { yieldToEventLoop } from '../../../../domain/time/yield-to-event-loop.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { readAll, readOne, transaction, write, type Database } from '../../database.ts'
import type { HistoryProjection } from './projection.ts'
import { removeUnusedWords } from '../vocabulary/unused-words.ts'

/**
 * Number of messages that are marked in one transaction. It is close to the number of messages whose words are stored
 * together (`pending-messages.ts`).
 */
const PAGE = 1_000
/** Messages that are removed per transaction. */
const ORPHANS = 100
/** Index pages that are rewritten per transaction, which takes about 10 ms. */
const MERGED_PAGES = 64

interface Dependencies {
  readonly database: Database
  readonly history: HistoryProjection
}

interface Rebuilt {
  readonly messages: number
  /** Number of messages whose documents were removed because the log no longer has them. */
  readonly removed: number
}

/**
 * Rebuilds the history index from the log, some messages at a time. It is safe while the program writes, and searches
 * continue to work. Documents without a message and words without a document are removed. `onProgress` receives the
 * number of messages done.
 */
export async function rebuildSqliteHistory(
  dependencies: Dependencies,
  onProgress?: (messages: number) => void,
): Promise<Rebuilt> {
  const { database, history } = dependencies
  let messages = 0
  endCursors(database)
  for (let after = 0; ;) {
    const numbers = transaction(database, () => markAfter(database, after))
    const last = numbers.at(-1)
    if (last === undefined) {
      const removed = removeOrphans(dependencies)
      await removeUnusedWords(database)
      for (const table of ['historyWords', 'historyWordParts'] as const) await forgetWords(database, table)
      endCursors(database)
      transaction(database, () => write(database, 'DELETE FROM historyReindex'))
      return { messages, removed }
    }
    await history.merge()
    messages += numbers.length
    after = last
    onProgress?.(messages)
  }
}

/** Marks messages, by number, to be indexed again. Call it inside a transaction. */
export function markToIndex(database: Database, numbers: readonly number[]): void {
  write(
    database,
    `INSERT INTO historyMarks (message, tenant) SELECT m.number, s.tenant FROM json_each(?) w
     JOIN messages m ON m.number = w.value JOIN sessions s ON s.number = m.session WHERE true
     ON CONFLICT (message) DO UPDATE SET first = NULL, stored = NULL, documents = CASE WHEN documents <= 0 THEN -1 END`,
    JSON.stringify(numbers),
  )
}

/** Invalidates all cursors. Documents get new numbers, so an older cursor would skip some of them. */
const endCursors = (database: Database): void =>
  transaction(database, () => {
    write(database, 'UPDATE historyCursorSecret SET secret = hex(randomblob(16))')
  })

/** Marks a page of messages after this number, and returns their numbers. Call it inside a transaction. */
function markAfter(database: Database, number: number): number[] {
  const sql = `SELECT m.number FROM messages m JOIN sessions s ON s.number = m.session
    WHERE m.number > ? AND s.live = 1 ORDER BY m.number LIMIT ?`
  const numbers = readAll<{ number: number }>(database, sql, number, PAGE).map((row) => row.number)
  markToIndex(database, numbers)
  return numbers
}

/**
 * Rewrites a full-text table without its removed content, which FTS5 otherwise drops only in later merges (promises
 * L9).
 */
async function forgetWords(database: Database, table: 'historyWords' | 'historyWordParts'): Promise<void> {
  const merge = `INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`
  const changes = (): number =>
    readOne<{ changes: number }>(database, 'SELECT total_changes() AS changes')?.changes ?? 0
  // A negative number starts a merge of all segments into one. Positive numbers then continue it until a step changes
  // nothing.
  for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
    const before = changes()
    transaction(database, () => write(database, merge, pages))
    if (changes() - before < 2) return
    await yieldToEventLoop()
  }
}

function removeOrphans({ database, history }: Dependencies): number {
  let removed = 0
  for (let orphans = findOrphans(database); orphans.length > 0; orphans = findOrphans(database)) {
    transaction(database, () => {
      for (const { tenant, session, message } of orphans) history.remove({ tenant, session }, [message])
    })
    removed += orphans.length
  }
  return removed
}

function findOrphans(database: Database): (SessionKey & { readonly message: string })[] {
  return readAll(
    database,
    `SELECT t.tenant, h.session, h.message FROM historyMessages h JOIN historyTenants t ON t.id = h.tenant
     WHERE NOT EXISTS (
       SELECT 1 FROM messages m JOIN sessions s ON s.number = m.session
       WHERE s.tenant = t.tenant AND s.session = h.session AND m.id = h.message) LIMIT ?`,
    ORPHANS,
  )
}
