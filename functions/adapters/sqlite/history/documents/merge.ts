import { yieldToEventLoop } from '../../../../domain/time/yield-to-event-loop.ts'
import { readAll, reading, transaction, write, type Database } from '../../database.ts'
import { afterOthers, type WriteGate } from '../../write-gate.ts'
import type { PendingMessages } from './pending-messages.ts'
import { readMarked, stillMarked, type MarkedDocuments, type MarkedDependencies } from './marked-documents.ts'
import { putSlice } from './slices.ts'
import type { HistoryTables } from './tables.ts'

/** Messages, and characters of their documents, that one transaction takes: it holds up the process for some milliseconds. */
const MESSAGES_AT_ONCE = 256
const CHARS_AT_ONCE = 256_000
/** Documents of one message, some KB each, that one transaction takes. */
const DOCUMENTS_AT_ONCE = 8

export interface MergeDependencies extends MarkedDependencies {
  readonly tables: HistoryTables
  readonly pending: PendingMessages
  /** Others on this file whose writes go first. */
  readonly gate?: WriteGate
  /** Aborted: nothing more is begun. */
  readonly closed: AbortSignal
}

/**
 * Indexes every message that is marked now, of one tenant or of all, one tenant after the other. Documents take time to make
 * (an output is read, secrets are looked for) and a transaction must not wait, so they are made before, and are stored only if
 * their message still says what they were made of; one that was changed meanwhile is read again. A message that cannot be read
 * is reported and stays marked; of one whose output is gone, the preview is indexed. However long an output is, a few documents
 * of it are in memory. The words of messages are stored after their documents, for several transactions at once; until then
 * they stay marked.
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

/** A message whose documents are all made. */
interface Whole extends Pick<MarkedDocuments, 'row'> {
  readonly documents: MarkedDocuments['first']
}

/** Returns the messages that were changed meanwhile. */
async function mergeThese(dependencies: MergeDependencies, numbers: readonly number[]): Promise<number[]> {
  const changed: number[] = []
  let batch: Whole[] = []
  let chars = 0
  const storeBatch = async (isLast = false): Promise<void> => {
    if (batch.length > 0) changed.push(...(await storeWhole(dependencies, batch, isLast)))
    batch = []
    chars = 0
    const { pending } = dependencies
    if (pending.isMany() || (isLast && !pending.isEmpty())) changed.push(...(await settle(dependencies)))
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

/** Returns the messages that say something else than their documents, whose marks stay. */
async function storeWhole(
  dependencies: MergeDependencies,
  batch: readonly Whole[],
  isLast: boolean,
): Promise<number[]> {
  const { database, pending } = dependencies
  // Few messages have their words with them: another transaction would cost more than it spares.
  const isSettled = isLast && pending.isEmpty()
  const outcomes = await inTransaction(dependencies, (tables) => {
    const states = tables.put((puts) =>
      batch.map(({ row, documents }) => {
        // Of another tenant's merge, or of one for all of them.
        if (pending.has(row.number)) return 'gone'
        const state = stillMarked(database, row)
        if (state !== 'same') return state
        puts.replace({ tenant: row.tenant, session: row.session }, row.id, documents)
        if (isSettled) write(database, 'DELETE FROM historyMarks WHERE message = ?', row.number)
        else pending.add(row.number, charsOf(documents))
        return state
      }),
    )
    if (isSettled) tables.settle()
    return states
  })
  return batch.filter((_, place) => outcomes[place] === 'changed').map(({ row }) => row.number)
}

/** Stores the words of what was stored without; returns the messages that were changed meanwhile. */
async function settle(dependencies: MergeDependencies): Promise<number[]> {
  return await inTransaction(dependencies, (tables) => {
    tables.settle()
    return dependencies.pending.settle()
  })
}

/** Stores a message of many documents in several transactions, between which others go on; returns whether it was changed meanwhile. */
async function storeSlices(dependencies: MergeDependencies, marked: MarkedDocuments): Promise<boolean> {
  const { database, closed } = dependencies
  let [start, documents, more] = [0, marked.first, marked.rest !== undefined]
  while (!closed.aborted) {
    for (const document of documents) dependencies.tables.prepare(document)
    const slice = { documents, start, last: !more }
    const outcome = await inTransaction(dependencies, (tables) => {
      const state = tables.put((puts) => putSlice(database, puts, marked, slice))
      tables.settle()
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

/** One transaction, before which others go first and after which they get their turn. */
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
