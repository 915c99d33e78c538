import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { TooltrailError } from '../../../domain/errors.ts'
import type { HistoryDocument } from '../../../domain/history.ts'
import { textOf, type ToolMessage } from '../../../domain/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { projectMessage } from '../../../search/documents.ts'
import { encodingOf } from '../../../log/output-encoding.ts'
import type { OutputStore } from '../../../ports/output-store.ts'
import { readAll, reading, readOne, transaction, write, type Database } from '../database.ts'
import { fromColumn } from '../exact-text.ts'
import { passGate, type WriteGate } from '../write-gate.ts'
import type { HistoryBatch, HistoryTables } from './tables.ts'
import { messageOf, SELECT_MESSAGES, type MessageRow } from '../log/message-rows.ts'

/** Messages, and characters of their documents, that one transaction takes: it holds up the process for some milliseconds. */
const MESSAGES_AT_ONCE = 32
const CHARS_AT_ONCE = 32_000
/** Documents of one message, some KB each, that one transaction takes. */
const DOCUMENTS_AT_ONCE = 8

export interface MergeDependencies {
  readonly database: Database
  readonly tables: HistoryTables
  /** Others on this file whose writes go first. */
  readonly gate?: WriteGate
  /** Aborted: nothing more is begun. */
  readonly closed: AbortSignal
  readonly outputs: Pick<OutputStore, 'read'>
  readonly redact: (text: string) => Promise<string>
  /** Is told why messages could not be indexed: all of them while nobody waits for it, or one that cannot be read. */
  readonly report: (error: unknown) => void
}

interface MarkedRow extends MessageRow {
  readonly number: number
  readonly tenant: string
  readonly session: string
  readonly owner: string | null
}

interface Projected {
  readonly row: MarkedRow
  readonly documents: readonly HistoryDocument[]
}

const SELECT_MARKED = `${SELECT_MESSAGES.replace('SELECT', 'SELECT m.number, s.tenant, s.session, s.owner,')}
  JOIN sessions s ON s.number = m.session JOIN historyMarks h ON h.message = m.number WHERE m.number = ?`

/** What of its documents a message that is marked has already. */
interface Begun {
  readonly first: number
  readonly stored: number
}

const SELECT_BEGUN = 'SELECT first, stored FROM historyMarks WHERE message = ? AND documents = ?'
const UPDATE_BEGUN = 'UPDATE historyMarks SET first = ?, stored = ?, documents = ? WHERE message = ?'

/**
 * Indexes every message that is marked now, of one tenant or of all, one tenant after the other. Documents take time to make
 * (an output is read, secrets are looked for) and a transaction must not wait, so they are made before, and are stored only if
 * their message still says what they were made of; one that was changed meanwhile is read again. A message that cannot be read
 * is reported and stays marked; of one whose output is gone, the preview is indexed.
 */
export async function mergeMarked(dependencies: MergeDependencies, tenant: string | undefined): Promise<void> {
  const { database, closed } = dependencies
  let numbers = reading(database, () =>
    tenant === undefined
      ? readAll<{ message: number }>(database, 'SELECT message FROM historyMarks ORDER BY tenant, message')
      : readAll<{ message: number }>(
          database,
          'SELECT message FROM historyMarks WHERE tenant = ? ORDER BY message',
          tenant,
        ),
  ).map(({ message }) => message)
  while (numbers.length > 0 && !closed.aborted) numbers = await mergeThese(dependencies, numbers)
}

/** Answers the messages that were changed meanwhile. */
async function mergeThese(dependencies: MergeDependencies, numbers: readonly number[]): Promise<number[]> {
  const changed: number[] = []
  let batch: Projected[] = []
  let chars = 0
  for (const number of numbers) {
    if (dependencies.closed.aborted) return []
    const projected = await projectMarked(dependencies, number)
    if (projected === undefined) continue
    batch.push(projected)
    chars += projected.documents.reduce((sum, { text }) => sum + text.length, 0)
    if (batch.length < MESSAGES_AT_ONCE && chars < CHARS_AT_ONCE) continue
    changed.push(...(await storeUnchanged(dependencies, batch)))
    batch = []
    chars = 0
  }
  changed.push(...(await storeUnchanged(dependencies, batch)))
  return changed
}

/** Undefined for a message that is not marked any more, and for one that cannot be read. */
async function projectMarked(
  { database, outputs, redact, report }: MergeDependencies,
  number: number,
): Promise<Projected | undefined> {
  const row = reading(database, () => readOne<MarkedRow>(database, SELECT_MARKED, number))
  if (row === undefined) return undefined
  const key = { tenant: row.tenant, session: row.session }
  const session = row.owner === null ? { key } : { key, owner: fromColumn(row.owner) }
  const readOutput = (message: ToolMessage): Promise<string> => wholeText(outputs, key, message, report)
  try {
    return { row, documents: await projectMessage(messageOf(row), session, { redact, readOutput }) }
  } catch (error) {
    report(new Error(`message ${row.id} of session ${row.session} is not indexed`, { cause: error }))
    return undefined
  }
}

async function wholeText(
  outputs: MergeDependencies['outputs'],
  key: SessionKey,
  { id, output, parts }: ToolMessage,
  report: MergeDependencies['report'],
): Promise<string> {
  if (output?.object === undefined) throw new TypeError(`message ${id} has no offloaded output`)
  try {
    return new TextDecoder(encodingOf(output.mediaType)).decode(await outputs.read(key, output.object))
  } catch (error) {
    if (!(error instanceof TooltrailError) || error.code !== 'output_not_found') throw error
    report(new Error(`the output of message ${id} is gone, its preview is indexed`, { cause: error }))
    return textOf(parts)
  }
}

/** Answers the messages that say something else than their documents, whose marks stay. */
async function storeUnchanged(dependencies: MergeDependencies, batch: readonly Projected[]): Promise<number[]> {
  const { database, tables, gate, closed } = dependencies
  const changed: number[] = []
  for (let left = batch; left.length > 0 && !closed.aborted; await nextTurn()) {
    if (gate !== undefined) passGate(gate)
    const outcomes = transaction(database, () =>
      tables.put((batch) => left.map((projected) => storeSome(database, batch, projected))),
    )
    changed.push(...left.filter((_, place) => outcomes[place] === 'changed').map(({ row }) => row.number))
    left = left.filter((_, place) => outcomes[place] === 'begun')
  }
  return changed
}

/**
 * Inside a transaction: goes on where the last one ended, of whatever process. Until all documents are there the mark stays and
 * says where they go; it forgets that when the message is changed.
 */
function storeSome(
  database: Database,
  batch: HistoryBatch,
  { row, documents }: Projected,
): 'done' | 'begun' | 'changed' {
  const now = readOne<MarkedRow>(database, SELECT_MARKED, row.number)
  // Another process was faster, or the message is gone.
  if (now === undefined) return 'done'
  if (!isDeepStrictEqual(now, row)) return 'changed'
  const [document] = documents
  const begun = readOne<Begun>(database, SELECT_BEGUN, row.number, documents.length)
  const first = begun?.first ?? (document === undefined ? 0 : batch.reserve(document, documents.length))
  const start = begun?.stored ?? 0
  const end = start + DOCUMENTS_AT_ONCE
  batch.replaceSome({ tenant: row.tenant, session: row.session }, row.id, documents, { first, start, end })
  if (end >= documents.length) write(database, 'DELETE FROM historyMarks WHERE message = ?', row.number)
  else write(database, UPDATE_BEGUN, first, end, documents.length, row.number)
  return end >= documents.length ? 'done' : 'begun'
}
