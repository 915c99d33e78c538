import { definedFields } from '../../domain/defined-fields.ts'
import type { Session } from '../../domain/session.ts'
import type { AppDependencies } from '../dependencies.ts'
import { MOST_BYTES } from '../../log/page-bytes.ts'
import { entriesOf, pageBytes } from './page-entries.ts'
import { readChatCursor, readMessageCursor, writeChatCursor, writeMessageCursor } from './page-cursor.ts'
import { messageMaker } from './resources/message.ts'
import { findRun } from './resources/run.ts'
import type { MessageQuery } from './schemas/message.ts'

/** A page of a session's log as the bytes of its JSON, in the form that the query asks for. */
export const messagePage = (
  dependencies: AppDependencies,
  session: Session,
  query: MessageQuery,
): Promise<Uint8Array<ArrayBuffer>> =>
  query.format === 'openai' ? chatPage(dependencies, session, query) : nativePage(dependencies, session, query)

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
  { limit, order, after, before, roles, run, agent, parent_tool_call_id: parent }: MessageQuery,
): Promise<Uint8Array<ArrayBuffer>> {
  // The input of a run that was merged is a message of the run that took it in.
  const holder = run === undefined ? undefined : ((await findRun(reader, session, run))?.id ?? run)
  const bounds = readMessageCursor(after, before)
  const { messages, more } = await reader.messages(session, {
    order: order === 'asc' ? 'ascending' : 'descending',
    limit,
    mostCharacters: MOST_BYTES,
    ...bounds,
    ...definedFields({ roles: readRoles(roles), run: holder, agent, parentToolCallId: parent }),
  })
  const entries = await entriesOf(messages, await messageMaker(reader, session, messages))
  const isCut = more || entries.texts.length < messages.length
  const last = messages[entries.texts.length - 1]?.id
  return pageBytes(entries, isCut && last !== undefined ? writeMessageCursor(order, last, bounds) : null, isCut)
}

type Role = 'user' | 'assistant' | 'tool'

const readRoles = (roles: string | undefined): Role[] | undefined =>
  roles === undefined ? undefined : ([...new Set(roles.split(','))] as Role[])
