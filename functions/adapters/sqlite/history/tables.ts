import type { HistoryDocument } from '../../../domain/history.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { documentTokens } from '../../../search/document-tokens.ts'
import { tokenize } from '../../../search/tokens.ts'
import { readAll, readOne, statement, write, type Database } from '../database.ts'
import { scopeTokens } from './scope.ts'
import { createVocabularyWriter, type VocabularyWriter } from './vocabulary.ts'

/** SQLite's word for no limit. */
const ALL = -1

/** The full-text tables, written message by message inside the caller's transaction. */
export interface HistoryTables {
  /** Puts these documents in the place of all that the tables have of the message. */
  replace(key: SessionKey, messageId: string, documents: readonly HistoryDocument[]): void
  /** Puts some of these documents, which get the ids from `first` on, in the place of as many of those that were there before. */
  replaceSome(key: SessionKey, messageId: string, documents: readonly HistoryDocument[], part: Part): void
  /** Answers the first of so many ids of documents, all greater than those before, which nobody else gets. */
  reserve(count: number): number
  /** Removes so many of the message's documents; answers how many there were to remove, and whether it has more. */
  removeSome(key: SessionKey, messageId: string, limit: number): Removed
  /** Removes what the tables have of the message; answers how many documents. */
  remove(key: SessionKey, messageId: string): number
}

export interface Removed {
  readonly count: number
  readonly more: boolean
}

/** Documents from `start` to before `end`; `first` is the id of the first of all. */
interface Part {
  readonly first: number
  readonly start: number
  readonly end: number
}

/** Writes the full-text tables. */
export function createHistoryTables(database: Database): HistoryTables {
  const vocabulary = createVocabularyWriter(database)
  return {
    replace(key, messageId, documents) {
      const part = { first: reserve(database, documents.length), start: 0, end: documents.length }
      replaceSome(database, vocabulary, { key, messageId, documents }, part)
    },
    replaceSome: (key, messageId, documents, part) =>
      replaceSome(database, vocabulary, { key, messageId, documents }, part),
    reserve: (count) => reserve(database, count),
    removeSome: (key, messageId, limit) => removeSome(database, vocabulary, { key, messageId, limit }),
    remove: (key, messageId) => removeSome(database, vocabulary, { key, messageId, limit: ALL }).count,
  }
}

function removeSome(
  database: Database,
  vocabulary: VocabularyWriter,
  { key, messageId, limit }: { readonly key: SessionKey; readonly messageId: string; readonly limit: number },
): Removed {
  const id = findMessage(database, key, messageId)
  if (id === undefined) return { count: 0, more: false }
  const { count, words } = removeDocuments(database, id, { below: Number.MAX_SAFE_INTEGER, limit })
  const more = readOne(database, 'SELECT 1 FROM historyDocuments WHERE message = ? LIMIT 1', id) !== undefined
  vocabulary.forget(more ? words : [...words, ...sharedWords(database, id)])
  if (!more) write(database, 'DELETE FROM historyMessages WHERE id = ?', id)
  return { count, more }
}

function reserve(database: Database, count: number): number {
  const sql = "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'historyDocuments' RETURNING seq"
  const last = readOne<{ seq: number }>(database, sql, count)?.seq
  if (last === undefined) throw new Error('historyDocuments has no sequence')
  return last - count + 1
}

function replaceSome(
  database: Database,
  vocabulary: VocabularyWriter,
  { key, messageId, documents }: { key: SessionKey; messageId: string; documents: readonly HistoryDocument[] },
  { first, start, end }: Part,
): void {
  const known = findMessage(database, key, messageId)
  const whole = end >= documents.length
  const limit = whole ? ALL : end - start
  const removed = known === undefined ? [] : removeDocuments(database, known, { below: first, limit }).words
  if (known !== undefined && whole) removed.push(...sharedWords(database, known))
  const [document] = documents
  const added = new Set<string>()
  if (document !== undefined) {
    const id = known ?? insertMessage(database, document)
    if (known !== undefined && whole) updateMessage(database, known, document)
    for (const [place, one] of documents.slice(start, end).entries())
      for (const word of insertDocument(database, vocabulary, id, first + start + place, one)) added.add(word)
  } else if (known !== undefined) write(database, 'DELETE FROM historyMessages WHERE id = ?', known)
  // Whether a word stands elsewhere is costly to ask, and most words are back at once: a call is written again with its result.
  vocabulary.forget(removed.filter((word) => !added.has(word)))
}

function findMessage(database: Database, key: SessionKey, messageId: string): number | undefined {
  return readOne<{ id: number }>(
    database,
    'SELECT id FROM historyMessages WHERE message = ? AND tenant = ? AND session = ?',
    messageId,
    key.tenant,
    key.session,
  )?.id
}

function insertMessage(database: Database, document: HistoryDocument): number {
  const { tenant, session, messageId, owner, runId, agent, toolName, toolCallId, status, call } = document
  const { lastInsertRowid } = statement(
    database,
    `INSERT INTO historyMessages (tenant, session, message, owner, run, agent, tool, toolCall, status, call)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    tenant,
    session,
    messageId,
    owner ?? null,
    runId,
    agent,
    toolName ?? null,
    toolCallId ?? null,
    status ?? null,
    call ?? null,
  )
  return Number(lastInsertRowid)
}

function updateMessage(database: Database, id: number, { owner, status, call }: HistoryDocument): void {
  write(
    database,
    'UPDATE historyMessages SET owner = ?, status = ?, call = ? WHERE id = ?',
    owner ?? null,
    status ?? null,
    call ?? null,
    id,
  )
}

/** Answers the document's words. */
function insertDocument(
  database: Database,
  vocabulary: VocabularyWriter,
  message: number,
  id: number,
  document: HistoryDocument,
): readonly string[] {
  write(
    database,
    'INSERT INTO historyDocuments (id, message, part, role, time, text) VALUES (?, ?, ?, ?, ?, ?)',
    ...[id, message, document.part, document.role, document.time, document.text],
  )
  const { tool, call, body, extra } = documentTokens(document)
  write(
    database,
    'INSERT INTO historyWords (rowid, tool, call, body, extra, scope) VALUES (?, ?, ?, ?, ?, ?)',
    id,
    tool.join(' '),
    call.join(' '),
    body.join(' '),
    extra.join(' '),
    scopeTokens(document).join(' '),
  )
  const words = [...tool, ...call, ...body, ...extra]
  vocabulary.add(words)
  return words
}

/** Removes the oldest documents of a message, of those with ids below. */
function removeDocuments(
  database: Database,
  message: number,
  { below, limit }: { readonly below: number; readonly limit: number },
): { count: number; words: string[] } {
  const rows = readAll<{ id: number; text: string }>(
    database,
    'SELECT id, text FROM historyDocuments WHERE message = ? AND id < ? ORDER BY id LIMIT ?',
    message,
    below,
    limit,
  )
  for (const { id } of rows) {
    write(database, 'DELETE FROM historyWords WHERE rowid = ?', id)
    write(database, 'DELETE FROM historyDocuments WHERE id = ?', id)
  }
  return { count: rows.length, words: rows.flatMap(({ text }) => wordsOf(text)) }
}

/** What every document of the message is found by, so that only the last one takes it along. */
function sharedWords(database: Database, message: number): string[] {
  const sql = "SELECT coalesce(tool, '') || ' ' || coalesce(call, '') AS text FROM historyMessages WHERE id = ?"
  return wordsOf(readOne<{ text: string }>(database, sql, message)?.text ?? '')
}

function wordsOf(text: string): string[] {
  const { words, extra } = tokenize(text)
  return [...words, ...extra]
}
