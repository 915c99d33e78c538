import type { MessageRange } from '../../../../domain/context.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import { boundsOutside } from '../../../../domain/runs/replacement.ts'
import { withMessages, type SessionMessages } from '../../../../domain/session-messages.ts'
import { withPlaceNames } from '../../../../log/imported-place.ts'
import { openingOfMessages, type Opening } from '../../../../log/title.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'
import { roleCode, titleSourceCode } from '../codes.ts'
import { messageOf, SELECT_MESSAGES, type MessageRow } from '../messages/message-rows.ts'
import { indexedColumns, readDetails, writeDetails, type Details } from './session-details.ts'
import type { SessionRow } from './session-rows.ts'

/**
 * Number of messages that are read at each end of a log, to find the times of its first and its last message. This is
 * needed for a session of an earlier version, and after a replacement.
 */
const MESSAGES_READ = 20
/** Maximum number of user messages that are read to find a title for a session of an earlier version. */
const INPUTS_READ = 5

/** Adds these messages to the counts and times of the row. The messages are appended in the same write. */
export const withCounted = (row: SessionRow, messages: readonly Message[]): SessionRow => ({
  ...row,
  ...columnsOf(withMessages(messagesOf(row), messages)),
})

/** Returns the message counts and times of a row. */
export const messagesOf = ({ messageCount, firstMessageAt, lastMessageAt }: SessionRow): SessionMessages => ({
  count: messageCount ?? 0,
  ...(firstMessageAt === null ? {} : { firstAt: firstMessageAt }),
  ...(lastMessageAt === null ? {} : { lastAt: lastMessageAt }),
})

const columnsOf = ({ count, firstAt, lastAt }: SessionMessages) => ({
  messageCount: count,
  firstMessageAt: firstAt ?? null,
  lastMessageAt: lastAt ?? null,
})

/**
 * Stores the opening in its table if the session has none. If the session has no title either, also stores the
 * opening's title. Returns the session's row, which the caller must save.
 */
export function introduced(database: Database, row: SessionRow, opening: Opening | undefined): SessionRow {
  if (opening === undefined || hasOpening(database, row)) return row
  write(database, 'INSERT INTO openings (session, text) VALUES (?, ?)', row.number, opening.text)
  if (row.titleSource !== null) return row
  writeDetails(database, row, { ...readDetails(database, row), title: opening.title })
  return { ...row, titleSource: titleSourceCode('input') }
}

/** Returns the stored beginning of the first input. */
export const readOpening = (database: Database, row: SessionRow): string | undefined =>
  readOne<{ text: string }>(database, 'SELECT text FROM openings WHERE session = ?', row.number)?.text

const hasOpening = (database: Database, { number }: SessionRow): boolean =>
  readOne(database, 'SELECT 1 FROM openings WHERE session = ?', number) !== undefined

/** The listed fields of a session of an earlier version. */
export interface Outline {
  readonly row: SessionRow
  readonly details: Details
  readonly opening: Opening | undefined
}

/**
 * Returns the outline of a session whose messages are not counted yet. Reads a limited number of messages, and counts
 * all of them with a query.
 */
export function outlineOf(database: Database, row: SessionRow, stored: Details): Outline {
  const details = { ...stored, metadata: withPlaceNames(stored.metadata) }
  const ends = [...messagesAt(database, row, 'ASC'), ...messagesAt(database, row, 'DESC')]
  const sql = `SELECT count(*) AS count FROM messages
    WHERE session = ? AND parent IS NULL AND role IN (${roleCode('user')}, ${roleCode('assistant')})`
  const { count } = readOne<{ count: number }>(database, sql, row.number) ?? { count: 0 }
  const columns = { ...columnsOf({ ...withMessages({ count: 0 }, ends), count }), ...indexedColumns(details.metadata) }
  const opening = openingOfMessages(inputsOf(database, row))
  if (details.title !== undefined)
    return { row: { ...row, ...columns, titleSource: titleSourceCode('given') }, details, opening }
  if (opening === undefined) return { row: { ...row, ...columns }, details, opening }
  const titled = { ...row, ...columns, titleSource: titleSourceCode('input') }
  return { row: titled, details: { ...details, title: opening.title }, opening }
}

/**
 * Returns the session's row with its message count. If the messages were not counted before, counts them, and stores
 * the title and the opening in their tables. The caller must save the returned row.
 */
export function counted(database: Database, before: SessionRow): SessionRow {
  if (before.messageCount !== null) return before
  const { row, details, opening } = outlineOf(database, before, readDetails(database, before))
  writeDetails(database, row, details)
  return introduced(database, row, opening)
}

/**
 * Removes superseded messages from the counts and times of the row. `count`: the number of the row's counted messages
 * that are superseded now. `ranges`: all superseded messages. The new times are those of the first and the last message
 * that are not superseded.
 */
export function withoutMessages(
  database: Database,
  row: SessionRow,
  count: number,
  ranges: readonly MessageRange[],
): SessionRow {
  const ends = [...messagesAt(database, row, 'ASC', ranges), ...messagesAt(database, row, 'DESC', ranges)]
  const left = { ...withMessages({ count: 0 }, ends), count: messagesOf(row).count - count }
  return { ...row, ...columnsOf(left) }
}

/** Returns the first or the last messages of the log outside of these ranges. */
function messagesAt(
  database: Database,
  row: SessionRow,
  order: 'ASC' | 'DESC',
  ranges: readonly MessageRange[] = [],
): Message[] {
  const sql = `${SELECT_MESSAGES} WHERE m.session = ? AND m.id > ? AND m.id < ? ORDER BY m.id ${order} LIMIT ?`
  const outside = boundsOutside(ranges, {})
  const found: Message[] = []
  for (const { after = '', before = AFTER_ALL_IDS } of order === 'ASC' ? outside : outside.toReversed()) {
    const left = MESSAGES_READ - found.length
    if (left <= 0) break
    found.push(...readAll<MessageRow>(database, sql, row.number, after, before, left).map(messageOf))
  }
  return found
}

/** Sorts after every ULID. */
const AFTER_ALL_IDS = '~'

function inputsOf(database: Database, row: SessionRow): Message[] {
  const sql = `${SELECT_MESSAGES} WHERE m.session = ? AND m.parent IS NULL AND m.role = ${roleCode('user')}
    ORDER BY m.id LIMIT ${INPUTS_READ}`
  return readAll<MessageRow>(database, sql, row.number).map(messageOf)
}
