import { supersededBy, type Replacement } from '../../../domain/runs/replacement.ts'
import type { z } from '@hono/zod-openapi'
import {
  deletedMeanwhile,
  lastMessageId,
  LOST_TEXT,
  mediaOrNote,
  wholeOutput,
  wholeSources,
} from '../../../agent/imports/closed-log.ts'
import type { Message, Part, ToolCall } from '../../../domain/messages/message.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { Session } from '../../../domain/session.ts'
import { messageMarkdown, sessionMarkdown } from '../../../log/formats/markdown.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import type { Pieces, BodyChunk } from '../../streaming/sequential-bodies.ts'
import { chatMessages } from '../messages/chat-messages.ts'
import type { ChatPosition } from '../page-cursor.ts'
import { messageResource } from '../messages/resource.ts'
import { sessionResource } from '../sessions/resource.ts'
import type { exportQuery } from './schema.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Chat Completions messages in one page. */
const CHAT_PAGE = 100
/** Messages in one page. */
const PAGE = 50
/** Characters after which a chunk is sent. */
const LONG = 32 * 1024

type Dependencies = RouteDependencies & { readonly logger: Logger }
type Options = z.output<typeof exportQuery>

/**
 * Exports a session's log in chunks. A chunk is built when the reader has taken the previous one, so only one chunk is
 * in memory. Clients that export the same session share the chunk. The export ends with the message that was the last
 * one when the export started.
 */
export function exported(
  given: RouteDependencies,
  session: Session,
  { format, outputs }: Options,
): { readonly pieces: Pieces; readonly mediaType: string } {
  const dependencies = { ...given, logger: given.log }
  const texts = dependencies.shared.of(session.tenant)
  if (format === 'openai')
    return { pieces: texts.sequential({}, (at) => chatChunk(dependencies, session, at)), mediaType: LINES }
  const textOf = format === 'markdown' ? asMarkdown(dependencies, session) : asLine(dependencies, session, outputs)
  const pieces = texts.sequential<LogPlace>({}, async ({ after, last }) => {
    if (last !== undefined) return chunk(dependencies, session, { after, last }, textOf)
    const end = await lastMessageId(dependencies, session)
    const text =
      format === 'markdown' ? sessionMarkdown(session) : line(await sessionResource(dependencies.reader, session))
    return { text, next: end === undefined ? undefined : { last: end } }
  })
  return { pieces, mediaType: format === 'markdown' ? 'text/markdown; charset=utf-8' : LINES }
}

const LINES = 'application/x-ndjson'

/** The position of an export. `last`: the last message of the export. */
interface LogPlace {
  readonly after?: string | undefined
  readonly last?: string
}

/**
 * Reads messages until the chunk is long enough. If the session was deleted during the export, the log ends before the
 * export's last message. The read then rejects.
 */
async function chunk(
  { reader }: Dependencies,
  session: Session,
  { after, last }: LogPlace & { readonly last: string },
  textOf: (message: Message, replacements: readonly Replacement[]) => Promise<string>,
): Promise<BodyChunk<LogPlace>> {
  const query = { order: 'ascending', limit: PAGE, mostCharacters: LONG, ...definedFields({ after }) } as const
  const [{ messages, more }, replacements] = await Promise.all([
    reader.messages(session, query),
    reader.replacements(session),
  ])
  let text = ''
  for (const [index, message] of messages.entries()) {
    if (message.id > last) return { text, next: undefined }
    text += await textOf(message, replacements)
    if (text.length >= LONG && index < messages.length - 1) return { text, next: { after: message.id, last } }
  }
  const end = messages.at(-1)?.id
  if (end === last) return { text, next: undefined }
  if (!more || end === undefined) throw deletedMeanwhile(session)
  return { text, next: { after: end, last } }
}

const line = (value: object): string => `${jsonText(value)}\n`

const asLine =
  (dependencies: Dependencies, session: Session, outputs: Options['outputs']) =>
  async (message: Message, replacements: readonly Replacement[]): Promise<string> => {
    const by = supersededBy(replacements, message.runId)
    return line(
      outputs === 'pointer'
        ? messageResource(session.session, message, { supersededBy: by })
        : await wholeResource(dependencies, session, message, by),
    )
  }

const asMarkdown =
  (dependencies: Dependencies, session: Session) =>
  async (message: Message, replacements: readonly Replacement[]): Promise<string> =>
    messageMarkdown(
      message,
      supersededBy(replacements, message.runId),
      message.role === 'tool' ? await wholeOutput(dependencies, session, message) : undefined,
    )

async function chatChunk(
  dependencies: Dependencies,
  session: Session,
  { from }: { readonly from?: ChatPosition },
): Promise<BodyChunk<{ readonly from?: ChatPosition }>> {
  const { messages, next } = await chatMessages(dependencies, session, from, CHAT_PAGE)
  return { text: messages.map(line).join(''), next: next === undefined ? undefined : { from: next } }
}

/**
 * A message as the API shows it, plus the data that only an export has. These are the complete media and output, the
 * providers' data of parts, the `searched` mark, and recorded source numbers.
 */
async function wholeResource(
  dependencies: Dependencies,
  session: Session,
  message: Message,
  by: string | undefined,
): Promise<object> {
  const shown = { ...messageResource(session.session, message, { supersededBy: by }), ...beyondResource(message) }
  const stored = message.parts.filter(({ type }) => type !== 'note')
  const parts = await Promise.all(
    shown.parts.map((part, place): Promise<ExportedPart> => more(dependencies, session, part, stored[place])),
  )
  if (message.role === 'assistant' && shown.tool_calls !== undefined)
    return {
      ...shown,
      parts,
      tool_calls: shown.tool_calls.map((call, n) => ({ ...call, ...attached(message.toolCalls[n]) })),
    }
  if (message.role !== 'tool') return { ...shown, parts }
  const sources = definedFields({ sources: await wholeSources(dependencies, session, message) })
  const whole = await wholeOutput(dependencies, session, message)
  // The size and the hash describe the original output. They are omitted if its text was lost, or if a note replaces
  // a lost image.
  const isLost =
    whole?.endsWith(LOST_TEXT) === true || parts.some((part, place) => part.type !== shown.parts[place]?.type)
  const output = isLost && shown.output !== undefined ? { output: { media_type: shown.output.media_type } } : {}
  if (whole === undefined) return { ...shown, ...output, parts, ...sources }
  return {
    ...shown,
    ...sources,
    ...output,
    parts: [{ type: 'text', text: whole }, ...parts.filter(({ type }) => type !== 'text')],
  }
}

function beyondResource(message: Message): object {
  if (message.role === 'user') return {}
  const { searched } = message
  const recorded = message.role === 'assistant' ? message.numbered : undefined
  const numbered = recorded?.map(({ message: row, from, count }) => ({ message_id: row, from, count }))
  const asked = message.role === 'assistant' ? message.requestedModel : undefined
  return definedFields({ searched, numbered, requested_model: asked })
}

const attached = (one: Part | ToolCall | undefined): object =>
  one !== undefined && 'provider' in one ? definedFields({ provider: one.provider }) : {}

/** A part as the API shows it, with its bytes. */
type ExportedPart = ReturnType<typeof messageResource>['parts'][number] & { readonly data?: unknown }

async function more(
  dependencies: Dependencies,
  session: Session,
  shown: ExportedPart,
  part: Part | undefined,
): Promise<ExportedPart> {
  if (part?.type !== 'image' && part?.type !== 'file') return { ...shown, ...attached(part) }
  return mediaOrNote(dependencies, session, part, (data) => ({ ...shown, data: Buffer.from(data).toString('base64') }))
}
