import type { AssistantMessage, Message, ToolMessage } from '../../../../domain/messages/message.ts'
import { CLOSED_AT_END } from '../../../../domain/runs/run-changes.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { roleCode, roleOf, toolStatusCode, toolStatusOf } from '../codes.ts'
import { fromColumn, toColumn } from '../../exact-text.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'
import { decodeBody, encodeBody } from './message-codec.ts'
import { pack, unpack } from './packed-text.ts'
import { insertNumbers } from './source-rows.ts'

export interface MessageRow {
  readonly id: string
  readonly runId: string
  readonly role: number
  readonly agent: string
  readonly status: number | null
  readonly generation: number | null
  readonly body: string | Uint8Array
}

/** Selects messages as `MessageRow`. */
export const SELECT_MESSAGES = `SELECT m.id, r.id AS runId, m.role, m.agent, m.status, m.generation, m.body
  FROM messages m JOIN runs r ON r.number = m.run`

const SELECT_LIVE_MESSAGE = `${SELECT_MESSAGES.replace('SELECT', 'SELECT m.session,')}
  WHERE m.session = (SELECT number FROM sessions WHERE tenant = ? AND session = ? AND live = 1) AND m.id = ?`

/** Returns the message of a row. */
export function messageOf(row: MessageRow): Message {
  const columns = { id: row.id, runId: row.runId, role: roleOf(row.role), agent: fromColumn(row.agent) }
  if (row.status === null || row.generation === null) return decodeBody(columns, unpack(row.body))
  const state = { status: toolStatusOf(row.status), generation: row.generation }
  return decodeBody({ ...columns, ...state }, unpack(row.body))
}

/** Adds a message after all others of its session. */
export function insertMessage(database: Database, session: number, run: number, message: Message): void {
  const tool = message.role === 'tool' ? message : undefined
  write(
    database,
    'INSERT INTO messages (session, id, run, role, agent, status, generation, parent, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    session,
    message.id,
    run,
    roleCode(message.role),
    toColumn(message.agent),
    tool === undefined ? null : toolStatusCode(tool.status),
    tool === undefined ? null : tool.generation,
    message.parentToolCallId === undefined ? null : toColumn(message.parentToolCallId),
    pack(encodeBody(message)),
  )
  if (message.role === 'assistant') insertNumbers(database, session, message.numbered ?? [])
}

/** Replaces a tool message. */
export function updateToolMessage(database: Database, session: number, message: ToolMessage): void {
  write(
    database,
    'UPDATE messages SET status = ?, generation = ?, body = ? WHERE session = ? AND id = ?',
    toolStatusCode(message.status),
    message.generation,
    pack(encodeBody(message)),
    session,
    message.id,
  )
}

/** Replaces the text of an assistant message's row. */
export function updateBody(database: Database, session: number, message: AssistantMessage): void {
  const sql = 'UPDATE messages SET body = ? WHERE session = ? AND id = ?'
  write(database, sql, pack(encodeBody(message)), session, message.id)
}

/** Returns the message with this id in this session. */
export function findMessage(database: Database, session: number, id: string): Message | undefined {
  const row = readOne<MessageRow>(database, `${SELECT_MESSAGES} WHERE m.session = ? AND m.id = ?`, session, id)
  return row && messageOf(row)
}

/** Returns the message with this id in a live session, and the session's number, with one statement. */
export function findLiveMessage(
  database: Database,
  { tenant, session }: SessionKey,
  id: string,
): { readonly session: number; readonly message: Message } | undefined {
  const row = readOne<MessageRow & { readonly session: number }>(database, SELECT_LIVE_MESSAGE, tenant, session, id)
  return row && { session: row.session, message: messageOf(row) }
}

/** Returns the tool message with this id in a live session, and the session's number, with one statement. */
export function findLiveCall(
  database: Database,
  key: SessionKey,
  id: string,
): { readonly session: number; readonly call: ToolMessage } | undefined {
  const found = findLiveMessage(database, key, id)
  return found?.message.role === 'tool' ? { session: found.session, call: found.message } : undefined
}

/** Returns the tool message with this id in this session. */
export function findToolMessage(database: Database, session: number, id: string): ToolMessage | undefined {
  const message = findMessage(database, session, id)
  return message?.role === 'tool' ? message : undefined
}

/** Returns the first message of a run; undefined if it has none. */
export function firstMessage(database: Database, run: number): Message | undefined {
  const sql = `${SELECT_MESSAGES} WHERE m.run = ? ORDER BY m.number LIMIT 1`
  const row = readOne<MessageRow>(database, sql, run)
  return row && messageOf(row)
}

/** Returns the run's open calls, in order. */
export function openCalls(database: Database, run: number): ToolMessage[] {
  const sql = `${SELECT_MESSAGES} WHERE m.run = ? AND m.status < 3 ORDER BY m.number`
  return toolMessages(readAll<MessageRow>(database, sql, run))
}

/** Returns the run's calls, in order. */
export function callsOfRun(database: Database, run: number): ToolMessage[] {
  const sql = `${SELECT_MESSAGES} WHERE m.run = ? AND m.role = ${roleCode('tool')} ORDER BY m.number`
  return toolMessages(readAll<MessageRow>(database, sql, run))
}

/** Returns the run's calls that its end closed at this time, in order. */
export function callsClosedAt(database: Database, run: number, completedAt: number): ToolMessage[] {
  const codes = CLOSED_AT_END.map(toolStatusCode).join(', ')
  const sql = `${SELECT_MESSAGES} WHERE m.run = ? AND m.status IN (${codes}) ORDER BY m.number`
  const calls = toolMessages(readAll<MessageRow>(database, sql, run))
  return calls.filter((call) => call.completedAt === completedAt)
}

function toolMessages(rows: readonly MessageRow[]): ToolMessage[] {
  return rows.map(messageOf).filter((message) => message.role === 'tool')
}
