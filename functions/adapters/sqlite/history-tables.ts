import type { HistoryDocument } from '../../domain/history.ts'
import type { SessionKey } from '../../domain/session.ts'
import { documentTokens } from '../../log/document-tokens.ts'
import { tokenize } from '../../log/tokens.ts'
import { readAll, readOne, statement, write, type Database } from './database.ts'
import { scopeTokens } from './history-scope.ts'
import { createVocabularyWriter, type VocabularyWriter } from './history-vocabulary.ts'

/** The full-text tables, written message by message inside the caller's transaction. */
export interface HistoryTables {
  /** Puts these documents in the place of all that the tables have of the message. */
  replace(key: SessionKey, messageId: string, documents: readonly HistoryDocument[]): void
  /** Removes what the tables have of the message; answers how many documents. */
  remove(key: SessionKey, messageId: string): number
}

/** Writes the full-text tables. */
export function createHistoryTables(database: Database): HistoryTables {
  const vocabulary = createVocabularyWriter(database)
  return {
    replace: (key, messageId, documents) => replace(database, vocabulary, key, messageId, documents),
    remove(key, messageId) {
      const id = findMessage(database, key, messageId)
      if (id === undefined) return 0
      const { count, words } = removeDocuments(database, id)
      vocabulary.forget(words)
      write(database, 'DELETE FROM historyMessages WHERE id = ?', id)
      return count
    },
  }
}

function replace(
  database: Database,
  vocabulary: VocabularyWriter,
  key: SessionKey,
  messageId: string,
  documents: readonly HistoryDocument[],
): void {
  const known = findMessage(database, key, messageId)
  const removed = known === undefined ? [] : removeDocuments(database, known).words
  const first = documents[0]
  const added = new Set<string>()
  if (first !== undefined) {
    const id = known === undefined ? insertMessage(database, first) : updateMessage(database, known, first)
    for (const document of documents)
      for (const word of insertDocument(database, vocabulary, id, document)) added.add(word)
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

function updateMessage(database: Database, id: number, { owner, status, call }: HistoryDocument): number {
  write(
    database,
    'UPDATE historyMessages SET owner = ?, status = ?, call = ? WHERE id = ?',
    owner ?? null,
    status ?? null,
    call ?? null,
    id,
  )
  return id
}

/** Answers the document's words. */
function insertDocument(
  database: Database,
  vocabulary: VocabularyWriter,
  message: number,
  document: HistoryDocument,
): readonly string[] {
  const { lastInsertRowid } = statement(
    database,
    'INSERT INTO historyDocuments (message, part, role, time, text) VALUES (?, ?, ?, ?, ?)',
  ).run(message, document.part, document.role, document.time, document.text)
  const { tool, call, body, extra } = documentTokens(document)
  write(
    database,
    'INSERT INTO historyWords (rowid, tool, call, body, extra, scope) VALUES (?, ?, ?, ?, ?, ?)',
    lastInsertRowid,
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

function removeDocuments(database: Database, message: number): { count: number; words: readonly string[] } {
  const rows = readAll<{ id: number; text: string }>(
    database,
    'SELECT id, text FROM historyDocuments WHERE message = ?',
    message,
  )
  for (const { id } of rows) write(database, 'DELETE FROM historyWords WHERE rowid = ?', id)
  write(database, 'DELETE FROM historyDocuments WHERE message = ?', message)
  // A call is a document of its own, so the words of all texts are all words.
  const words = rows.map(({ text }) => tokenize(text)).flatMap((tokens) => [...tokens.words, ...tokens.extra])
  return { count: rows.length, words }
}
