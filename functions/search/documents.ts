import type { HistoryDocument, HistoryRole } from '../domain/history.ts'
import { textOf, type Message, type ToolMessage } from '../domain/message.ts'
import type { SessionKey } from '../domain/session.ts'

/** They show what is in the history already: searching must not find itself, so their calls and results are not indexed. */
export const READING_TOOLS: readonly string[] = ['search_history', 'read_output']

/** Whether a message is part of the searchable history. */
export const isSearched = (message: Message): boolean =>
  message.role !== 'tool' || !READING_TOOLS.includes(message.toolName)

/** Characters (UTF-16 units) of a chunk, and how many of them the next one repeats. */
const CHUNK = 4_000
const OVERLAP = 150
/** Characters of its call that every chunk of a result carries. */
const CALL_IN_RESULT = 1_000

/** What a message says to a search: its text (a result's whole output), and its call where it is a tool message. */
export interface SearchableText {
  readonly text: string
  readonly call: string
}

/** Gets what may be apart from the message, and takes out what must not be found. */
export interface SearchableSources {
  /** The whole text of an offloaded result. */
  readonly readOutput: (message: ToolMessage) => Promise<string>
  readonly redact: (text: string) => Promise<string>
}

/**
 * A message's documents: one for a text or a call, one a chunk for long ones. None for empty contents, and for the tools that
 * search. Notes, reasoning and errors of the model are no text.
 */
export async function projectMessage(
  message: Message,
  session: { readonly key: SessionKey; readonly owner?: string },
  sources: SearchableSources,
): Promise<HistoryDocument[]> {
  if (!isSearched(message)) return []
  const offloaded = message.role === 'tool' && message.output?.object !== undefined
  const text = offloaded ? await sources.readOutput(message) : textOf(message.parts)
  return historyDocuments(message, session, {
    text: text.trim() === '' ? '' : await sources.redact(text),
    call: message.role === 'tool' ? await sources.redact(message.call) : '',
  })
}

/** The same, of texts that are read and redacted already. */
export function historyDocuments(
  message: Message,
  session: { readonly key: SessionKey; readonly owner?: string },
  content: SearchableText,
): HistoryDocument[] {
  const base = {
    tenant: session.key.tenant,
    session: session.key.session,
    ...(session.owner === undefined ? {} : { owner: session.owner }),
    runId: message.runId,
    messageId: message.id,
    agent: message.agent,
  }
  const make = (role: HistoryRole, letter: string, text: string, more: object, time: number): HistoryDocument[] =>
    chunks(text).map((chunk, index) => ({
      ...base,
      part: index === 0 && letter !== 'r' ? letter : `${letter}${index}`,
      role,
      ...more,
      text: chunk,
      time,
    }))
  if (message.role === 'user') return make('user', 'u', content.text, {}, message.createdAt)
  if (message.role === 'assistant') return make('assistant', 'a', content.text, {}, message.createdAt)
  const tool = {
    toolName: message.toolName,
    toolCallId: message.toolCallId,
    status: message.status,
    call: content.call.slice(0, CALL_IN_RESULT).toWellFormed(),
  }
  return [
    ...make('tool_call', 'c', content.call, tool, message.createdAt),
    ...make('tool_result', 'r', content.text, tool, message.completedAt ?? message.createdAt),
  ]
}

/** Cut at a line's end, else at a space, never inside a character. Nothing for a blank text. */
function chunks(text: string): string[] {
  if (text.trim() === '') return []
  const pieces: string[] = []
  for (let start = 0; ;) {
    const end = cutBefore(text, start, start + CHUNK)
    pieces.push(text.slice(start, end).toWellFormed())
    if (end >= text.length) return pieces
    start = boundary(text, end - OVERLAP)
  }
}

/** The place to cut at or before `limit`: in the last quarter after a newline, else after a space, else right there. */
function cutBefore(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length
  const earliest = start + Math.floor(CHUNK * 0.75)
  for (const separator of ['\n', ' ']) {
    const place = text.lastIndexOf(separator, limit - 1)
    if (place >= earliest) return place + 1
  }
  return boundary(text, limit)
}

/** Steps back where `place` would divide a surrogate pair. */
function boundary(text: string, place: number): number {
  const code = text.charCodeAt(place)
  const before = text.charCodeAt(place - 1)
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? place - 1 : place
}
