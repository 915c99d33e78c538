import { readAll, readOne, reading, transaction, write, type Database } from '../../database.ts'
import { markToIndex } from './rebuild.ts'
import { afterOthers, type WriteGate } from '../../write-gate.ts'
import type { Clock } from '../../../../ports/clock.ts'

/** Messages that are examined at a time. */
const PAGE = 200
/** Backoff after a failure: the first and the longest wait. The wait doubles each time. */
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 60_000

export interface ReindexDependencies {
  readonly database: Database
  /** Gate for connections on this file whose writes have priority. */
  readonly gate?: WriteGate
  /** Indexes every marked message. */
  readonly merge: () => Promise<void>
  /** Once aborted, no further page or retry starts. */
  readonly closed: AbortSignal
  readonly clock: Pick<Clock, 'sleep'>
  readonly report: (error: unknown) => void
}

/** Whether messages still have the tokens of an earlier version of the tokenizer. */
export const needsReindex = (database: Database): boolean =>
  readOne(database, 'SELECT 1 FROM historyReindex LIMIT 1') !== undefined

/**
 * Indexes messages again if their tokens come from an earlier version of the tokenizer. Only messages with characters
 * outside ASCII need this. They are indexed a page at a time, and searches continue. The progress is stored with the
 * marks of a page, so a later program continues where a killed program stopped. A failure is reported, and the work is
 * retried after a backoff. It ends when all messages are indexed, or when `closed` aborts.
 */
export async function reindexMessages(dependencies: ReindexDependencies): Promise<void> {
  const { closed, clock, report } = dependencies
  for (let wait = FIRST_WAIT_MS; !closed.aborted; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
    try {
      return await reindexPages(dependencies)
    } catch (error) {
      report(error)
    }
    await clock.sleep(wait, closed).catch(() => undefined)
  }
}

async function reindexPages({ database, gate, merge, closed }: ReindexDependencies): Promise<void> {
  while (!closed.aborted) {
    const page = reading(database, () => readPage(database))
    if (page === undefined) return
    // If an earlier attempt failed, messages that it marked are not indexed yet. Index them before the end is recorded.
    if (page.last === undefined) await merge()
    if (closed.aborted) return
    const store = (): void => transaction(database, () => storePage(database, page))
    if (gate === undefined) store()
    else afterOthers(gate, store)
    if (page.numbers.length > 0) await merge()
  }
}

interface Page {
  /** The last message of the previous page. */
  readonly after: number
  /** The last message of this page; undefined after the last page. */
  readonly last: number | undefined
  readonly numbers: readonly number[]
}

/**
 * Selects texts with a character outside ASCII, which have more bytes than characters. Also selects texts with a NUL
 * character, because SQLite counts characters only up to it. GLOB cannot be used, because it stops at a NUL.
 */
const isOutsideAscii = (column: string): string => `octet_length(${column}) > length(${column})`

function readPage(database: Database): Page | undefined {
  const after = readOne<{ done: number }>(database, 'SELECT done FROM historyReindex')?.done
  if (after === undefined) return undefined
  const sql = `SELECT max(number) AS last FROM (SELECT number FROM messages WHERE number > ? ORDER BY number LIMIT ?)`
  const last = readOne<{ last: number | null }>(database, sql, after, PAGE)?.last ?? undefined
  const found = readAll<{ number: number }>(
    database,
    `SELECT m.number FROM messages m JOIN sessions s ON s.number = m.session
       JOIN historyTenants t ON t.tenant = s.tenant
       JOIN historyMessages h ON h.message = m.id AND h.tenant = t.id AND h.session = s.session
     WHERE m.number > ? AND m.number <= ? AND s.live = 1
       AND (${isOutsideAscii('h.call')} OR ${isOutsideAscii('h.tool')} OR EXISTS (
         SELECT 1 FROM historyDocuments d WHERE d.message = h.id AND ${isOutsideAscii('d.text')}))`,
    after,
    last ?? after,
  )
  return { after, last, numbers: found.map(({ number }) => number) }
}

/**
 * Marks the messages of a page, unless another process has already stored this page. After the last page, all cursors
 * become invalid, because the documents have new numbers.
 */
function storePage(database: Database, { after, last, numbers }: Page): void {
  const done = 'SELECT 1 FROM historyReindex WHERE done = ?'
  if (readOne(database, done, after) === undefined) return
  if (last === undefined) {
    write(database, 'DELETE FROM historyReindex')
    write(database, 'UPDATE historyCursorSecret SET secret = hex(randomblob(16))')
    return
  }
  markToIndex(database, numbers)
  write(database, 'UPDATE historyReindex SET done = ?', last)
}
