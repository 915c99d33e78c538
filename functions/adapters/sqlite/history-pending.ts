import type { SessionKey } from '../../domain/session.ts'
import { readAll, readOne, transaction, write, type Database } from './database.ts'
import type { MessageDocuments } from './history-projection.ts'
import { createHistoryTables } from './history-tables.ts'

/**
 * Full-text tables are cheap to write in bulk and dear to write one commit at a time: each leaves a small segment in them that
 * later ones must merge. So a commit of the log leaves its documents in one row of `historyPending`, and they enter the tables
 * many at once: when nothing was written for a moment, when many wait, and always before a search reads.
 */

/** Nothing written for so many milliseconds: a model is being waited for, or nobody is there. */
const IDLE_MS = 100
/** With so many rows, documents enter the tables even while others are written: bounds what a search has to do first. */
const MOST_PENDING = 256
/** Rows, and characters in them, that one transaction takes: it holds up the process for some milliseconds. */
const ROWS_AT_ONCE = 32
const CHARS_AT_ONCE = 32_000

interface PendingRow extends SessionKey {
  readonly number: number
  readonly messages: string
}

/** Inside the caller's transaction: these are all documents of these messages from now on. */
export function addPending(database: Database, key: SessionKey, messages: readonly MessageDocuments[]): void {
  const sql = 'INSERT INTO historyPending (tenant, session, messages) VALUES (?, ?, ?)'
  write(database, sql, key.tenant, key.session, JSON.stringify(messages))
}

/** Takes everything that is pending into the full-text tables, inside the caller's transaction where there is one. */
export function mergeAll(database: Database): void {
  while (isPending(database)) mergeSome(database)
}

const isPending = (database: Database): boolean =>
  readOne(database, 'SELECT 1 FROM historyPending LIMIT 1') !== undefined

/**
 * Answers what to call after every write, so that pending documents are taken in when the process has time. Nothing is lost when
 * that fails and is reported: the documents stay, and the next search takes them in or says why it cannot.
 */
export function mergeWhenIdle(database: Database, report: (error: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined
  let waiting = 0
  const merge = (): void => {
    // Once begun, further writes do not put it off.
    waiting = MOST_PENDING
    timer = mergedSome(database, report) ? setTimeout(merge, 0).unref() : undefined
    if (timer === undefined) waiting = 0
  }
  return () => {
    waiting++
    if (timer === undefined) timer = setTimeout(merge, IDLE_MS).unref()
    else if (waiting < MOST_PENDING) timer.refresh()
  }
}

/** Answers whether more is pending and worth another try now. */
function mergedSome(database: Database, report: (error: unknown) => void): boolean {
  if (!database.isOpen) return false
  try {
    mergeSome(database)
    return isPending(database)
  } catch (error) {
    report(error)
    return false
  }
}

/** Takes the oldest rows. Of a message that stands in several of them, only the last counts. */
function mergeSome(database: Database): void {
  const work = (): void => {
    const sql = 'SELECT number, tenant, session, messages FROM historyPending ORDER BY number LIMIT ?'
    const rows = firstRows(readAll<PendingRow>(database, sql, ROWS_AT_ONCE))
    const latest = new Map<string, { key: SessionKey; message: MessageDocuments }>()
    for (const { tenant, session, messages } of rows)
      for (const message of JSON.parse(messages) as MessageDocuments[])
        latest.set(JSON.stringify([tenant, session, message.messageId]), { key: { tenant, session }, message })
    const tables = createHistoryTables(database)
    for (const { key, message } of latest.values()) tables.replace(key, message.messageId, message.documents)
    write(database, 'DELETE FROM historyPending WHERE number <= ?', rows.at(-1)?.number ?? 0)
  }
  if (database.isTransaction) work()
  else transaction(database, work)
}

/** As many as fit one transaction, at least one. */
function firstRows(rows: readonly PendingRow[]): readonly PendingRow[] {
  let chars = 0
  const end = rows.findIndex(({ messages }, place) => (chars += messages.length) > CHARS_AT_ONCE && place > 0)
  return end === -1 ? rows : rows.slice(0, end)
}
