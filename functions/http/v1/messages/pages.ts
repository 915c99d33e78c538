import { currentLog } from '../../../agent/current-log.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { readAround } from '../../../agent/events/log-window.ts'
import type { Session } from '../../../domain/session.ts'
import type { LogReader, MessageQuery as LogQuery } from '../../../ports/log-reader.ts'
import type { AppDependencies } from '../../dependencies.ts'
import { MAX_PAGE_BYTES } from '../../../log/page-bytes.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { entriesOf, pageBytes, windowBytes, type PageEntries } from '../page-entries.ts'
import {
  cursorNotFound,
  readChatCursor,
  readMessageCursor,
  writeChatCursor,
  writeMessageCursor,
  type MessageBounds,
} from '../page-cursor.ts'
import { messageMaker } from './resource.ts'
import { findRun } from '../runs/resource.ts'
import type { MessageQuery } from './schema.ts'

/** Builds a page of a session's log as JSON bytes, in the format of the query. */
export function messagePage(
  all: AppDependencies,
  session: Session,
  query: MessageQuery,
): Promise<Uint8Array<ArrayBuffer>> {
  const dependencies = query.superseded === 'true' ? all : { ...all, reader: currentLog(all.reader) }
  return query.format === 'openai' ? chatPage(dependencies, session, query) : nativePage(dependencies, session, query)
}

async function chatPage(
  dependencies: AppDependencies,
  session: Session,
  { after, limit }: MessageQuery,
): Promise<Uint8Array<ArrayBuffer>> {
  const { chatMessages } = await import('./chat-messages.ts')
  const { messages, begins, next } = await chatMessages(dependencies, session, readChatCursor(after), limit)
  const entries = await entriesOf(messages, async (message) => message)
  const cut = begins[entries.texts.length] ?? next
  return pageBytes(entries, cut === undefined ? null : writeChatCursor(cut))
}

async function nativePage(
  { reader }: AppDependencies,
  session: Session,
  query: MessageQuery,
): Promise<Uint8Array<ArrayBuffer>> {
  if (query.around !== undefined) return pageAround(reader, session, query.around, query.limit)
  const { limit, order, after, before } = query
  const bounds = readMessageCursor(after, before)
  await requireMessages(reader, session, bounds, after === undefined ? 'before' : 'after')
  const filters = await filtersOf(reader, session, query)
  if (order === 'asc' && before !== undefined && after === undefined)
    return pageBefore(reader, session, { before, limit, ...filters })
  const falling = order === 'asc' ? 'ascending' : 'descending'
  const read = { order: falling, limit, mostCharacters: MAX_PAGE_BYTES, ...bounds, ...filters } as const
  const { messages, more } = await reader.messages(session, read)
  const entries = await entriesOf(messages, await messageMaker(reader, session, messages))
  const isCut = more || entries.texts.length < messages.length
  const last = messages[entries.texts.length - 1]?.id
  const next = isCut && last !== undefined ? writeMessageCursor(order, last, bounds) : null
  if (order === 'desc') return pageBytes(entries, next, isCut)
  return windowBytes(entries, after === undefined ? null : (messages[0]?.id ?? null), next)
}

/** Reads a page of the messages around one message, oldest first. */
async function pageAround(
  reader: LogReader,
  session: Session,
  around: string,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const window = await readAround(reader, session, around, { limit, maxCharacters: MAX_PAGE_BYTES })
  if (window === undefined) throw messageNotFound(session.session, around)
  const { older, newer, hasOlder, hasNewer } = window
  const make = await messageMaker(reader, session, [...older, ...newer])
  const maxBytes = older.length === 0 ? MAX_PAGE_BYTES : MAX_PAGE_BYTES / 2
  const from = await entriesOf(newer, make, maxBytes)
  const before = older.length === 0 ? NONE : await entriesOf(older, make, MAX_PAGE_BYTES - from.bytes)
  const first = older[before.texts.length - 1]?.id ?? around
  const last = newer[from.texts.length - 1]?.id ?? around
  const isCutBefore = hasOlder || before.texts.length < older.length
  const isCutAfter = hasNewer || from.texts.length < newer.length
  return windowBytes(joined(before, from), isCutBefore ? first : null, isCutAfter ? last : null)
}

type Filters = Pick<LogQuery, 'roles' | 'run' | 'agent' | 'parentToolCallId'>

/** Reads the last messages before one message, oldest first. */
async function pageBefore(
  reader: LogReader,
  session: Session,
  { before, limit, ...filters }: { readonly before: string; readonly limit: number } & Filters,
): Promise<Uint8Array<ArrayBuffer>> {
  const read = { order: 'descending', before, limit, mostCharacters: MAX_PAGE_BYTES, ...filters } as const
  const { messages, more } = await reader.messages(session, read)
  const entries = await entriesOf(messages, await messageMaker(reader, session, messages))
  const isCut = more || entries.texts.length < messages.length
  const first = messages[entries.texts.length - 1]?.id
  return windowBytes(joined(entries, NONE), isCut ? (first ?? null) : null, messages[0]?.id ?? null)
}

const NONE: PageEntries = { texts: [], bytes: 0 }

/** Joins the entries of both sides of a page, oldest first; `older` is sorted newest first. */
const joined = (older: PageEntries, newer: PageEntries): PageEntries => ({
  texts: [...older.texts.toReversed(), ...newer.texts],
  bytes: older.bytes + newer.bytes,
})

async function filtersOf(
  reader: LogReader,
  session: Session,
  { roles, run, agent, parent_tool_call_id: parentToolCallId }: MessageQuery,
): Promise<Filters> {
  // The input of a merged run is a message of the run that it was merged into.
  const holder = run === undefined ? undefined : ((await findRun(reader, session, run))?.id ?? run)
  return definedFields({ roles: readRoles(roles), run: holder, agent, parentToolCallId })
}

/** Rejects bounds that are not ids of messages of the session. Such a bound is a cursor of another list. */
async function requireMessages(
  reader: LogReader,
  session: Session,
  { after, before }: MessageBounds,
  field: 'after' | 'before',
): Promise<void> {
  for (const id of [after, before])
    if (id !== undefined && (await reader.message(session, id)) === undefined) throw cursorNotFound(field)
}

const messageNotFound = (session: string, id: string): RequestError =>
  new RequestError(404, 'message_not_found', `session ${session} has no message ${id}`, {
    errors: [{ path: 'query.around', message: 'is not a message of this session' }],
  })

type Role = 'user' | 'assistant' | 'tool'

const readRoles = (roles: string | undefined): Role[] | undefined =>
  roles === undefined ? undefined : ([...new Set(roles.split(','))] as Role[])
