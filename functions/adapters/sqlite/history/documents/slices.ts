import type { HistoryDocument } from '../../../../domain/history.ts'
import { readOne, write, type Database } from '../../database.ts'
import { stillMarked, type MarkedDocuments } from './marked-documents.ts'
import type { HistoryBatch } from './tables.ts'

/** Some of a message's documents, the first of which is its `start`th. */
interface Slice {
  readonly documents: readonly HistoryDocument[]
  readonly start: number
  readonly last: boolean
}

/** What of its documents a message that is marked has already. */
interface Begun {
  readonly first: number
  readonly stored: number
}

const SELECT_BEGUN = 'SELECT first, stored FROM historyMarks WHERE message = ? AND documents = ?'
const UPDATE_BEGUN = 'UPDATE historyMarks SET first = ?, stored = ?, documents = ? WHERE message = ?'

/**
 * Inside a transaction: goes on where the last one ended, of whatever process. Until all documents are there the mark stays and
 * says where they go; it forgets that when the message is changed.
 */
export function putSlice(
  database: Database,
  batch: HistoryBatch,
  { row, most }: MarkedDocuments,
  { documents, start, last }: Slice,
): 'same' | 'changed' | 'gone' {
  const state = stillMarked(database, row)
  const [document] = documents
  if (state !== 'same' || document === undefined) return state
  const begun = readOne<Begun>(database, SELECT_BEGUN, row.number, most)
  const end = start + documents.length
  const stored = begun?.stored ?? 0
  // Another process has started again.
  if (stored < start) return 'changed'
  if (stored > start) {
    const same = begun !== undefined && stored >= end && isStored(database, begun, documents, start)
    return same ? 'same' : restart(database, row.number)
  }
  const first = begun?.first ?? batch.reserve(document, most)
  batch.replaceSome({ tenant: row.tenant, session: row.session }, row.id, documents, { first, start, last })
  if (last) write(database, 'DELETE FROM historyMarks WHERE message = ?', row.number)
  else write(database, UPDATE_BEGUN, first, end, most, row.number)
  return 'same'
}

/** Whether what was stored before is what is made now: another version of the program may make other documents. */
function isStored(database: Database, { first }: Begun, documents: readonly HistoryDocument[], start: number): boolean {
  return documents.every((document, place) => {
    const sql = 'SELECT text FROM historyDocuments WHERE id = ?'
    return readOne<{ text: string }>(database, sql, first + start + place)?.text === document.text
  })
}

function restart(database: Database, number: number): 'changed' {
  write(database, 'UPDATE historyMarks SET first = NULL, stored = NULL, documents = NULL WHERE message = ?', number)
  return 'changed'
}
