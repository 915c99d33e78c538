import type { z } from '@hono/zod-openapi'
import { lastMessageId, messagesThrough, wholeOutput, wholeSources } from '../../agent/intake/closed-log.ts'
import type { Message, Part, ToolCall } from '../../domain/message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Session } from '../../domain/session.ts'
import { messageMarkdown, sessionMarkdown } from '../../log/markdown.ts'
import type { AppDependencies } from '../dependencies.ts'
import { PIECE } from '../long-bodies.ts'
import { chatMessages } from './chat-messages.ts'
import { messageResource } from './resources/message.ts'
import { sessionResource } from './resources/session.ts'
import type { exportQuery } from './schemas/transfer.ts'

/** Chat Completions messages read at a time. */
const CHAT_PAGE = 100

type Dependencies = Pick<AppDependencies, 'reader' | 'outputs' | 'agents'> & AppDependencies
type Options = z.output<typeof exportQuery>

/**
 * A session's log in pieces, each made when its reader has taken the one before: a page of messages and one message's contents
 * are in memory. The log's end is that at the first piece.
 */
export function exported(
  dependencies: Dependencies,
  session: Session,
  { format, outputs }: Options,
): { readonly pieces: AsyncGenerator<Uint8Array, void, undefined>; readonly mediaType: string } {
  if (format === 'markdown')
    return { pieces: inPieces(markdown(dependencies, session)), mediaType: 'text/markdown; charset=utf-8' }
  const lines = format === 'openai' ? chatLines(dependencies, session) : nativeLines(dependencies, session, outputs)
  return { pieces: inPieces(asLines(lines)), mediaType: 'application/x-ndjson' }
}

async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
  let held = ''
  for await (const text of texts) {
    held += text
    if (held.length < PIECE) continue
    const bytes = Buffer.from(held)
    held = ''
    for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
  }
  if (held !== '') yield Buffer.from(held)
}

async function* asLines(values: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`
}

async function* nativeLines(
  dependencies: Dependencies,
  session: Session,
  outputs: Options['outputs'],
): AsyncGenerator<object> {
  yield await sessionResource(dependencies.reader, session)
  const last = await lastMessageId(dependencies, session)
  if (last === undefined) return
  for await (const message of messagesThrough(dependencies, session, last))
    yield outputs === 'pointer'
      ? messageResource(session.session, message)
      : await wholeResource(dependencies, session, message)
}

/** A message as the API shows it, with its media and its output whole, and what providers attached to its parts. */
async function wholeResource(dependencies: Dependencies, session: Session, message: Message): Promise<object> {
  const shown = messageResource(session.session, message)
  const stored = message.parts.filter(({ type }) => type !== 'note')
  const parts = await Promise.all(
    shown.parts.map(async (part, place) => ({ ...part, ...(await more(dependencies, session, stored[place])) })),
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
  if (whole === undefined) return { ...shown, parts, ...sources }
  return {
    ...shown,
    ...sources,
    parts: [{ type: 'text', text: whole }, ...parts.filter(({ type }) => type !== 'text')],
  }
}

const attached = (one: Part | ToolCall | undefined): object =>
  one !== undefined && 'provider' in one ? definedFields({ provider: one.provider }) : {}

async function more({ outputs }: Dependencies, session: Session, part: Part | undefined): Promise<object> {
  if (part?.type !== 'image' && part?.type !== 'file') return attached(part)
  return { data: Buffer.from(await outputs.read(session, part.id)).toString('base64') }
}

async function* chatLines(dependencies: Dependencies, session: Session): AsyncGenerator<object> {
  let page = await chatMessages(dependencies, session, undefined, CHAT_PAGE)
  for (;;) {
    yield* page.messages
    if (page.next === undefined) return
    page = await chatMessages(dependencies, session, page.next, CHAT_PAGE)
  }
}

async function* markdown(dependencies: Dependencies, session: Session): AsyncGenerator<string> {
  yield sessionMarkdown(session)
  const last = await lastMessageId(dependencies, session)
  if (last === undefined) return
  for await (const message of messagesThrough(dependencies, session, last)) {
    const whole = message.role === 'tool' ? await wholeOutput(dependencies, session, message) : undefined
    yield messageMarkdown(message, whole)
  }
}
