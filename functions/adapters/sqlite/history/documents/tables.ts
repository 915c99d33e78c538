import type { HistoryDocument } from '../../../../domain/history.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { createDocumentReader, type DocumentReader } from '../../../../search/tokens/document-words.ts'
import type { Run } from '../../../../search/tokens/runs.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'
import {
  countDocuments,
  findSessionRows,
  isEmpty,
  lastDocument,
  removeSession,
  reserveDocuments,
  sessionRows,
  type SessionRows,
} from '../vocabulary/audiences.ts'
import { hasPendingWords } from './pending-messages.ts'
import { createPendingWords, keepPendingWords, type PendingWords } from '../vocabulary/pending-words.ts'
import { createPreparedWords, type WordsOf } from '../vocabulary/prepared-words.ts'
import {
  findMessage,
  insertDocument,
  insertMessage,
  insertWords,
  isIndexed,
  removeDocuments,
  updateMessage,
} from './indexed-rows.ts'
import { createVocabularyWriter, type VocabularyWriter } from '../vocabulary/vocabulary-writer.ts'

/** SQLite's value for no limit. */
const ALL = -1
/**
 * Maximum number of words that one removal deletes for each document that it may delete.
 * Removing a word takes some tenths of a millisecond.
 */
const WORDS_A_DOCUMENT = 3

/**
 * The full-text tables. They are written inside the caller's transactions. Documents and their words may be written in
 * different transactions: new words are spread over the whole vocabulary, so larger batches change fewer pages per
 * word.
 */
export interface HistoryTables {
  /**
   * Reads the words of a document. Call it before the transaction that puts the document: reading takes as long as
   * writing the words, and would make the transaction longer.
   */
  prepare(document: HistoryDocument): void
  /**
   * Runs `work`, which puts documents. Data that documents share are written once, at the end. The documents are then
   * searchable, except for typo and prefix matches, which need `flushPendingWords`.
   */
  put<Result>(work: (batch: HistoryBatch) => Result): Result
  /** Updates the vocabularies of sessions, owners and tenants with the words of all documents that were put. */
  flushPendingWords(): void
  /**
   * Removes up to `limit` documents of the message. With the last document of a session, the session's words are
   * removed too. Returns how many documents were removed, and whether documents or words remain. Returns undefined if
   * the tables have nothing of the message.
   */
  removeSome(key: SessionKey, messageId: string, limit: number): Removed | undefined
  /** Removes the message from the tables, and returns the number of its documents. */
  remove(key: SessionKey, messageId: string): number
  /**
   * Drops the cached data and the pending words. Call it after a rollback of these tables, because both may then differ
   * from the tables.
   */
  undone(): void
}

export interface HistoryBatch {
  /** Replaces all documents of the message with these. */
  replace(key: SessionKey, messageId: string, documents: readonly HistoryDocument[]): void
  /** Replaces some former documents of the message with these, at the position `part`. */
  replaceSome(key: SessionKey, messageId: string, documents: readonly HistoryDocument[], part: Part): void
  /** Reserves `count` document ids, greater than all earlier ones of the tenant, and returns the first. */
  reserve(document: HistoryDocument, count: number): number
}

export interface Removed {
  readonly count: number
  readonly more: boolean
}

/**
 * Position of some documents within their message. `start` is the index of the first of them. `first` is the id of the
 * message's first document. `last`: no more documents follow.
 */
interface Part {
  readonly first: number
  readonly start: number
  readonly last: boolean
}

/** Creates the writer of the full-text tables. */
export function createHistoryTables(database: Database): HistoryTables {
  const reader = createDocumentReader()
  const vocabulary = createVocabularyWriter(database, reader)
  const words = createPreparedWords(reader)
  const pending = createPendingWords(database, vocabulary)
  const removing = { database, reader, vocabulary }
  return {
    prepare: words.prepare,
    put(work) {
      const batch = createBatch({ ...removing, wordsOf: words.of, pending })
      const result = work(batch)
      batch.end()
      return result
    },
    removeSome: (key, messageId, limit) => removeSome(removing, { key, messageId, limit }),
    remove: (key, messageId) => removeSome(removing, { key, messageId, limit: ALL })?.count ?? 0,
    flushPendingWords: pending.flush,
    undone() {
      pending.forget()
      vocabulary.undone()
    },
  }
}

/** Data of a session in the current batch that are not written yet. */
interface Gathered {
  readonly rows: SessionRows
  documents: number
  readonly runs: (readonly Run[])[]
}

interface Removing {
  readonly database: Database
  readonly reader: DocumentReader
  readonly vocabulary: VocabularyWriter
}

interface Batching extends Removing {
  readonly wordsOf: WordsOf
  readonly pending: PendingWords
}

function createBatch({ database, reader, vocabulary, wordsOf, pending }: Batching): HistoryBatch & { end(): void } {
  const sessions = new Map<string, Gathered>()
  /** Last reserved document id by tenant. */
  const reserved = new Map<number, number>()
  const gather = (document: HistoryDocument): Gathered => {
    const name = JSON.stringify([document.tenant, document.session])
    const known = sessions.get(name)
    if (known !== undefined) return known
    const made = { rows: sessionRows(database, document), documents: 0, runs: [] }
    sessions.set(name, made)
    return made
  }
  const end = (): void => {
    for (const [tenant, last] of reserved) reserveDocuments(database, tenant, last)
    reserved.clear()
    for (const gathered of sessions.values()) {
      countDocuments(database, gathered.rows, gathered.documents)
      pending.defer(gathered)
    }
    sessions.clear()
  }
  const reserve: HistoryBatch['reserve'] = (document, count) => {
    const { tenant } = gather(document).rows
    const last = reserved.get(tenant) ?? lastDocument(database, tenant)
    reserved.set(tenant, last + count)
    return last + 1
  }
  const replaceSome: HistoryBatch['replaceSome'] = (key, messageId, documents, part) => {
    const [document] = documents
    if (document !== undefined)
      return putSome({ database, reader, wordsOf, gathered: gather(document) }, { key, messageId, documents }, part)
    // A message without documents usually had none before. In this case, nothing is removed, so the batch is not
    // written yet.
    if (!isIndexed(database, key, messageId)) return
    // The current batch is written first, because the removal must find all other documents of the session.
    end()
    pending.flush()
    removeSome({ database, reader, vocabulary }, { key, messageId, limit: ALL })
  }
  return {
    end,
    reserve,
    replaceSome,
    replace(key, messageId, documents) {
      const [document] = documents
      // A rating or a replacement changes a message, but not its texts.
      if (document?.role === 'assistant' || document?.superseded === true) {
        const { rows, runs } = gather(document)
        const known = findMessage(database, rows, key, messageId)
        if (known !== undefined && rescope({ database, wordsOf }, known, documents)) {
          if (hasPendingWords(database, key, messageId)) runs.push(...documents.map((one) => wordsOf(one).runs))
          return
        }
      }
      const first = document === undefined ? 0 : reserve(document, documents.length)
      replaceSome(key, messageId, documents, { first, start: 0, last: true })
    },
  }
}

function removeSome(
  { database, reader, vocabulary }: Removing,
  { key, messageId, limit }: { readonly key: SessionKey; readonly messageId: string; readonly limit: number },
): Removed | undefined {
  const rows = findSessionRows(database, key)
  const id = rows && findMessage(database, rows, key, messageId)
  if (rows === undefined || id === undefined) return undefined
  if (hasPendingWords(database, key, messageId)) keepPendingWords({ database, reader }, rows, id)
  const count = removeDocuments(database, id, { below: Number.MAX_SAFE_INTEGER, limit })
  countDocuments(database, rows, -count)
  const left = readOne(database, 'SELECT 1 FROM historyDocuments WHERE message = ? LIMIT 1', id) !== undefined
  if (left) return { count, more: true }
  if (isEmpty(database, rows)) {
    if (vocabulary.forget(rows, limit === ALL ? ALL : limit * WORDS_A_DOCUMENT)) return { count, more: true }
    removeSession(database, rows)
  }
  write(database, 'DELETE FROM historyMessages WHERE id = ?', id)
  return { count, more: false }
}

/**
 * Replaces the filter tokens of a message's documents in place, so that the documents keep their ids and their order.
 * Returns false, without any change, if the texts differ from the stored ones.
 */
function rescope(
  { database, wordsOf }: { readonly database: Database; readonly wordsOf: WordsOf },
  id: number,
  documents: readonly HistoryDocument[],
): boolean {
  const sql = 'SELECT id, part, text FROM historyDocuments WHERE message = ? ORDER BY id'
  const stored = readAll<{ id: number; part: string; text: string }>(database, sql, id)
  const isSame = ({ part, text }: HistoryDocument, place: number): boolean =>
    stored[place]?.part === part && stored[place].text === text
  if (stored.length !== documents.length || !documents.every(isSame)) return false
  for (const [place, document] of documents.entries()) {
    const rowId = stored[place]?.id ?? 0
    write(database, 'DELETE FROM historyWords WHERE rowid = ?', rowId)
    insertWords(database, rowId, document, wordsOf(document))
  }
  return true
}

interface Put {
  readonly key: SessionKey
  readonly messageId: string
  readonly documents: readonly HistoryDocument[]
}

interface Putting {
  readonly database: Database
  readonly reader: DocumentReader
  readonly wordsOf: WordsOf
  readonly gathered: Gathered
}

function putSome(
  { database, reader, wordsOf, gathered }: Putting,
  { key, messageId, documents }: Put,
  { first, start, last }: Part,
): void {
  const { rows, runs } = gathered
  const known = findMessage(database, rows, key, messageId)
  const limit = last ? ALL : documents.length
  if (known !== undefined && hasPendingWords(database, key, messageId))
    keepPendingWords({ database, reader }, rows, known)
  if (known !== undefined) gathered.documents -= removeDocuments(database, known, { below: first, limit })
  const [document] = documents
  if (document === undefined) return
  const id = known ?? insertMessage(database, rows, document)
  if (known !== undefined && last) updateMessage(database, known, document)
  for (const [place, one] of documents.entries()) {
    const words = wordsOf(one)
    insertDocument(database, id, first + start + place, one)
    insertWords(database, first + start + place, one, words)
    runs.push(words.runs)
  }
  gathered.documents += documents.length
}
