import { yieldToEventLoop } from '../../../../domain/time/yield-to-event-loop.ts'
import { readAll, reading, transaction, write, type Database } from '../../database.ts'
import { afterOthers, type WriteGate } from '../../write-gate.ts'
import type { PendingMessages } from './pending-messages.ts'
import { readMarked, stillMarked, type MarkedDocuments, type MarkedDependencies } from './marked-documents.ts'
import { putSlice } from './slices.ts'
import type { HistoryTables } from './tables.ts'

/**
 * Maximum messages, and characters of their documents, per transaction. A transaction blocks the process for some
 * milliseconds.
 */
const MESSAGES_AT_ONCE = 256
const CHARS_AT_ONCE = 256_000
/** Maximum documents of one message per transaction. A document has some KB. */
const DOCUMENTS_AT_ONCE = 8

export interface MergeDependencies extends MarkedDependencies {
  readonly tables: HistoryTables
  readonly pending: PendingMessages
  /** Gate for connections on this file whose writes have priority. */
  readonly gate?: WriteGate
  /** Once aborted, no further work starts. */
  readonly closed: AbortSignal
}

/**
 * Indexes every message that is marked as not yet indexed when this is called: those of one tenant, or those of all
 * tenants in turn.
 *
 * Making documents takes time, because outputs are read and secrets are searched. A transaction must not wait for this
 * work. So documents are made first, and are stored only if their message has not changed since it was read. A message
 * that has changed is read again. A message that cannot be read is reported and remains marked. If the output of a
 * message is gone, the preview is indexed. Only a few documents of an output are in memory at a time. Words are stored
 * after the documents, for several transactions at once. Until its words are stored, a message remains marked.
 */
export async function mergeMarked(dependencies: MergeDependencies, tenant: string | undefined): Promise<void> {
  const { database, closed } = dependencies
  let numbers = reading(database, () => markedNumbers(database, tenant))
  while (numbers.length > 0 && !closed.aborted) numbers = await mergeThese(dependencies, numbers)
}

function markedNumbers(database: Database, tenant: string | undefined): number[] {
  const rows =
    tenant === undefined
      ? readAll<{ message: number }>(database, 'SELECT message FROM historyMarks ORDER BY tenant, message')
      : readAll<{ message: number }>(
          database,
          'SELECT message FROM historyMarks WHERE tenant = ? ORDER BY message',
          tenant,
        )
  return rows.map(({ message }) => message)
}

/** A message with all its documents. */
interface Whole extends Pick<MarkedDocuments, 'row'> {
  readonly documents: MarkedDocuments['first']
}

/** Indexes these messages. Returns the messages that changed before they were stored. */
async function mergeThese(dependencies: MergeDependencies, numbers: readonly number[]): Promise<number[]> {
  const changed: number[] = []
  let batch: Whole[] = []
  let chars = 0
  const storeBatch = async (isLast = false): Promise<void> => {
    if (batch.length > 0) changed.push(...(await storeWhole(dependencies, batch, isLast)))
    batch = []
    chars = 0
    const { pending } = dependencies
    if (pending.isMany() || (isLast && !pending.isEmpty())) changed.push(...(await flushWords(dependencies)))
  }
  for (const number of numbers) {
    if (dependencies.closed.aborted) {
      batch = []
      break
    }
    const marked = await readMarked(dependencies, number, DOCUMENTS_AT_ONCE)
    if (marked === undefined) continue
    const { row, first: documents, rest } = marked
    if (rest !== undefined) {
      await storeBatch()
      if (await storeSlices(dependencies, marked)) changed.push(number)
      continue
    }
    for (const document of documents) dependencies.tables.prepare(document)
    batch.push({ row, documents })
    chars += charsOf(documents)
    if (batch.length >= MESSAGES_AT_ONCE || chars >= CHARS_AT_ONCE) await storeBatch()
  }
  await storeBatch(true)
  return changed
}

const charsOf = (documents: Whole['documents']): number => documents.reduce((sum, { text }) => sum + text.length, 0)

/**
 * Stores messages with all their documents. Returns the messages that have changed since they were read. These messages
 * remain marked as not indexed.
 */
async function storeWhole(
  dependencies: MergeDependencies,
  batch: readonly Whole[],
  isLast: boolean,
): Promise<number[]> {
  const { database, pending } = dependencies
  // If no other messages are pending, the words of the last batch are stored with its documents. Another transaction
  // would cost more than it saves.
  const isFlushed = isLast && pending.isEmpty()
  const outcomes = await inTransaction(dependencies, (tables) => {
    const states = tables.put((puts) =>
      batch.map(({ row, documents }) => {
        // Another merge, of this tenant or of all tenants, has already stored this message.
        if (pending.has(row.number)) return 'gone'
        const state = stillMarked(database, row)
        if (state !== 'same') return state
        puts.replace({ tenant: row.tenant, session: row.session }, row.id, documents)
        if (isFlushed) write(database, 'DELETE FROM historyMarks WHERE message = ?', row.number)
        else pending.add(row.number, charsOf(documents))
        return state
      }),
    )
    if (isFlushed) tables.flushPendingWords()
    return states
  })
  return batch.filter((_, place) => outcomes[place] === 'changed').map(({ row }) => row.number)
}

/** Stores the pending words. Returns the messages that have changed since their documents were stored. */
async function flushWords(dependencies: MergeDependencies): Promise<number[]> {
  return await inTransaction(dependencies, (tables) => {
    tables.flushPendingWords()
    return dependencies.pending.unmark()
  })
}

/**
 * Stores a message with many documents in several transactions, so that other writers can run between them. Returns
 * whether the message has changed since it was read.
 */
async function storeSlices(dependencies: MergeDependencies, marked: MarkedDocuments): Promise<boolean> {
  const { database, closed } = dependencies
  let [start, documents, more] = [0, marked.first, marked.rest !== undefined]
  while (!closed.aborted) {
    for (const document of documents) dependencies.tables.prepare(document)
    const slice = { documents, start, last: !more }
    const outcome = await inTransaction(dependencies, (tables) => {
      const state = tables.put((puts) => putSlice(database, puts, marked, slice))
      tables.flushPendingWords()
      return state
    })
    if (outcome !== 'same' || !more) return outcome === 'changed'
    start += documents.length
    const next = await marked.rest?.(DOCUMENTS_AT_ONCE)
    if (next === undefined) return false
    ;({ documents, more } = next)
  }
  return false
}

/** Runs one transaction after waiting for writers with priority, and then yields to the event loop. */
async function inTransaction<Result>(
  { database, tables, gate, pending }: MergeDependencies,
  work: (tables: HistoryTables) => Result,
): Promise<Result> {
  const run = (): Result => transaction(database, () => work(tables))
  try {
    const result = gate === undefined ? run() : afterOthers(gate, run)
    await yieldToEventLoop()
    return result
  } catch (error) {
    tables.undone()
    pending.forget()
    throw error
  }
}
