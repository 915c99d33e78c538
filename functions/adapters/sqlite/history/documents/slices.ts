import type { HistoryDocument } from '../../../../domain/history.ts'
import { readOne, write, type Database } from '../../database.ts'
import { stillMarked, type MarkedDocuments } from './marked-documents.ts'
import type { HistoryBatch } from './tables.ts'

/** Consecutive documents of a message; `start` is the index of the first one. */
interface Slice {
  readonly documents: readonly HistoryDocument[]
  readonly start: number
  readonly last: boolean
}

/** The documents of a marked message that are already stored. */
interface Begun {
  readonly first: number
  readonly stored: number
}

const SELECT_BEGUN = 'SELECT first, stored FROM historyMarks WHERE message = ? AND documents = ?'
const UPDATE_BEGUN = 'UPDATE historyMarks SET first = ?, stored = ?, documents = ? WHERE message = ?'

/**
 * Stores the next slice, after the last one that any process has stored. Until all documents are stored, the message
 * keeps its mark. The mark records which documents are stored. A change of the message clears this record. Call it
 * inside a transaction.
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
  // Another process has begun to store this message again from its start.
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

/**
 * Whether the stored documents equal these. They differ if another version of the program made the stored ones.
 */
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
