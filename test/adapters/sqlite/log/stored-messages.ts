import { readOne, transaction, write, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import { findMessage, insertMessage } from '../../../../functions/adapters/sqlite/log/messages/message-rows.ts'
import { encodeBody } from '../../../../functions/adapters/sqlite/log/messages/message-codec.ts'
import { pack } from '../../../../functions/adapters/sqlite/log/messages/packed-text.ts'
import { toolStatusCode } from '../../../../functions/adapters/sqlite/log/codes.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import type { SessionKey } from '../../../../functions/domain/session.ts'

/** Writes messages into the log's tables in one transaction, replacing earlier states of the same messages. */
export function storeMessages(database: Database, key: SessionKey, messages: readonly Message[]): void {
  const work = (): void => {
    const session = sessionOf(database, key)
    for (const message of messages) {
      if (findMessage(database, session, message.id) === undefined)
        insertMessage(database, session, runOf(database, session, message.runId), message)
      else {
        const status = message.role === 'tool' ? toolStatusCode(message.status) : null
        const sql = 'UPDATE messages SET status = ?, body = ? WHERE session = ? AND id = ?'
        write(database, sql, status, pack(encodeBody(message)), session, message.id)
      }
    }
  }
  if (database.isTransaction) work()
  else transaction(database, work)
}

/** Removes messages from the log's tables, and nothing else. */
export function dropMessages(database: Database, key: SessionKey, ids: readonly string[]): void {
  const session = sessionOf(database, key)
  for (const id of ids) write(database, 'DELETE FROM messages WHERE session = ? AND id = ?', session, id)
}

function sessionOf(database: Database, { tenant, session }: SessionKey): number {
  const sql = `INSERT INTO sessions (tenant, session, agent, createdAt, updatedAt, totals) VALUES (?, ?, 'default', 0, 0, '{}')
    ON CONFLICT (tenant, session) DO UPDATE SET live = live RETURNING number`
  return numberOf(readOne(database, sql, tenant, session))
}

function runOf(database: Database, session: number, id: string): number {
  const sql = `INSERT INTO runs (session, id, status, body) VALUES (?, ?, 1, '{}')
    ON CONFLICT (session, id) DO UPDATE SET status = status RETURNING number`
  return numberOf(readOne(database, sql, session, id))
}

function numberOf(row: { readonly number: number } | undefined): number {
  if (row === undefined) throw new Error('nothing was returned')
  return row.number
}
