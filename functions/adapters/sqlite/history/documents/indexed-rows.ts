import type { HistoryDocument } from '../../../../domain/history.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { DocumentWords } from '../../../../search/tokens/document-words.ts'
import { readAll, readOne, statement, write, type Database } from '../../database.ts'
import { findSessionRows, type SessionRows } from '../vocabulary/audiences.ts'
import { scopeText } from '../search/scope.ts'

/** Whether any document of the message is indexed. */
export function isIndexed(database: Database, key: SessionKey, messageId: string): boolean {
  const rows = findSessionRows(database, key)
  return rows !== undefined && findMessage(database, rows, key, messageId) !== undefined
}

/** Returns the number that identifies a message in the tables; undefined if no document of the message is indexed. */
export function findMessage(
  database: Database,
  { tenant }: SessionRows,
  { session }: SessionKey,
  messageId: string,
): number | undefined {
  const sql = 'SELECT id FROM historyMessages WHERE message = ? AND tenant = ? AND session = ?'
  return readOne<{ id: number }>(database, sql, messageId, tenant, session)?.id
}

/** Adds the fields that the documents of a message share, and returns its number. Call it inside a transaction. */
export function insertMessage(database: Database, { tenant }: SessionRows, document: HistoryDocument): number {
  const { session, messageId, owner, runId, agent, toolName, toolCallId, status, call, searched, task } = document
  const { lastInsertRowid } = statement(
    database,
    `INSERT INTO historyMessages (tenant, session, message, owner, run, agent, tool, toolCall, status, call, searched, task)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
    searched === true ? 1 : null,
    task === true ? 1 : null,
  )
  return Number(lastInsertRowid)
}

/** Updates the fields of a message that may change. Call it inside a transaction. */
export function updateMessage(
  database: Database,
  id: number,
  { owner, status, call, searched }: HistoryDocument,
): void {
  write(
    database,
    'UPDATE historyMessages SET owner = ?, status = ?, call = ?, searched = ? WHERE id = ?',
    owner ?? null,
    status ?? null,
    call ?? null,
    searched === true ? 1 : null,
    id,
  )
}

/** Adds the text of a document. Call it inside a transaction. */
export function insertDocument(database: Database, message: number, id: number, document: HistoryDocument): void {
  write(
    database,
    'INSERT INTO historyDocuments (id, message, part, role, time, text) VALUES (?, ?, ?, ?, ?, ?)',
    ...[id, message, document.part, document.role, document.time, document.text],
  )
}

/** Adds the words and the filter tokens of a document. Call it inside a transaction. */
export function insertWords(
  database: Database,
  id: number,
  document: HistoryDocument,
  { tool, call, body, extra }: DocumentWords,
): void {
  write(
    database,
    'INSERT INTO historyWords (rowid, tool, call, body, extra, scope) VALUES (?, ?, ?, ?, ?, ?)',
    ...[id, tool, call, body, extra, scopeText(document)],
  )
}

/**
 * Removes the oldest documents of a message with ids below `below`, and returns how many. Call it inside a transaction.
 */
export function removeDocuments(
  database: Database,
  message: number,
  { below, limit }: { readonly below: number; readonly limit: number },
): number {
  const sql = 'SELECT id FROM historyDocuments WHERE message = ? AND id < ? ORDER BY id LIMIT ?'
  const rows = readAll<{ id: number }>(database, sql, message, below, limit)
  for (const { id } of rows) {
    write(database, 'DELETE FROM historyWords WHERE rowid = ?', id)
    write(database, 'DELETE FROM historyDocuments WHERE id = ?', id)
  }
  return rows.length
}
