import { definedFields } from '../../domain/defined-fields.ts'
import { ratingsOf } from '../../domain/messages/feedback.ts'
import type { HistoryDocument, HistoryRole } from '../../domain/history.ts'
import { isLeaders, textOf, type Message, type Output, type ToolMessage } from '../../domain/messages/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import { sourceHead } from '../../domain/messages/source.ts'
import { createChunker, MIN_CHUNK_CHARACTERS } from './chunks.ts'
import { redactPieces, redactSecrets } from '../redaction/redact.ts'

/** Name of the tool that searches the history. */
export const SEARCHING_TOOL = 'search_history'

/** Tools that show existing history. Their calls and results are not indexed, because a search must not find itself. */
export const READING_TOOLS: readonly string[] = [SEARCHING_TOOL, 'read_output']

/** Whether a message is part of the searchable history. */
export const isSearched = (message: Message): boolean =>
  message.role !== 'tool' || !READING_TOOLS.includes(message.toolName)

/** Each chunk of a result contains the beginning of its call: at most this many characters. */
const CALL_IN_RESULT = 1_000

interface SessionOf {
  readonly key: SessionKey
  readonly owner?: string
  /** Whether another run has superseded the message's run. */
  readonly superseded?: boolean
}

/**
 * The searchable content of a message: its text and, for a tool message, its call. The text of a result is its whole
 * output.
 */
export interface SearchableText {
  readonly text: string
  readonly call: string
}

/**
 * Yields a message's documents with secrets redacted: one for each text or call, or one per chunk of a long text. Blank
 * contents, blank chunks and calls of reading tools have no documents. Notes, reasoning and errors of the model are not
 * indexed.
 *
 * `readOutput` reads an output from its beginning each time it is called. Only a few pieces of an output are in memory,
 * even if it is long.
 */
export async function* projectMessage(
  message: Message,
  session: SessionOf,
  readOutput: (message: ToolMessage) => AsyncIterable<string>,
): AsyncGenerator<HistoryDocument> {
  if (!isSearched(message)) return
  const call = message.role === 'tool' ? await redactSecrets(message.call) : ''
  const { ofCall, ofText } = makersOf(message, session, call)
  yield* documentsOf(ofCall, [call])
  if (message.role !== 'tool' || !isOffloaded(message)) {
    yield* documentsOf(ofText, [await redactSecrets(shownText(message))])
    return
  }
  const chunker = createChunker()
  let index = 0
  for await (const piece of redactPieces(() => readOutput(message)))
    for (const chunk of chunker.take(piece)) yield* documentOf(ofText, chunk, index++)
  for (const chunk of chunker.end()) yield* documentOf(ofText, chunk, index++)
}

/** Returns the text in a message's row. The sources of a result follow its text. */
export function shownText(message: Pick<Message, 'parts'> & Pick<ToolMessage, 'sources'>): string {
  const sources = (message.sources ?? []).flatMap((source) => [sourceHead(source), source.text ?? ''])
  return [textOf(message.parts), ...sources].filter((text) => text !== '').join('\n')
}

/** Whether a part of a result is in the output store. */
const isOffloaded = ({ output, sources = [] }: ToolMessage): boolean =>
  output?.object !== undefined || sources.some((source) => source.output !== undefined)

/** Returns how many bytes of a result are in the output store. */
export const offloadedBytes = ({ output, sources = [] }: Pick<ToolMessage, 'output' | 'sources'>): number =>
  [output, ...sources.map((source) => source.output)].reduce(
    (sum, one) => sum + (one?.object === undefined ? 0 : one.bytes),
    0,
  )

/** Yields a result's whole text in pieces, sources included. `read` reads offloaded parts. */
export async function* wholeText(
  { parts, output, sources = [] }: ToolMessage,
  read: (object: string, output: Output) => AsyncIterable<string>,
): AsyncGenerator<string> {
  if (output?.object === undefined) yield textOf(parts)
  else yield* read(output.object, output)
  for (const source of sources) {
    yield `\n${sourceHead(source)}\n`
    if (source.output?.object === undefined) yield source.text ?? ''
    else yield* read(source.output.object, source.output)
  }
}

/** Makes documents like `projectMessage`, from texts that are already read and redacted. */
export function historyDocuments(message: Message, session: SessionOf, content: SearchableText): HistoryDocument[] {
  const { ofCall, ofText } = makersOf(message, session, content.call)
  return [...documentsOf(ofCall, [content.call]), ...documentsOf(ofText, [content.text])]
}

/** Returns the maximum number of a message's documents, including those of its output, without reading the output. */
export function mostDocuments(message: Message): number {
  const tool = message.role === 'tool' ? message : undefined
  const offloaded = tool === undefined ? 0 : offloadedBytes(tool)
  return [shownText(message).length, tool?.call.length ?? 0, offloaded]
    .map((units) => Math.ceil(units / MIN_CHUNK_CHARACTERS))
    .reduce((sum, count) => sum + count, 0)
}

type Make = (text: string, index: number) => HistoryDocument

/** Returns functions that make the documents of a message's call and of its text. */
function makersOf(
  message: Message,
  session: SessionOf,
  call: string,
): { readonly ofCall: Make; readonly ofText: Make } {
  const base = {
    tenant: session.key.tenant,
    session: session.key.session,
    ...definedFields({ owner: session.owner }),
    ...(session.superseded === true ? { superseded: true as const } : {}),
    runId: message.runId,
    messageId: message.id,
    agent: message.agent,
  }
  const make =
    (role: HistoryRole, letter: string, more: object, time: number): Make =>
    (text, index) => ({
      ...base,
      part: index === 0 && letter !== 'r' ? letter : `${letter}${index}`,
      role,
      ...more,
      text,
      time,
    })
  const tool =
    message.role === 'tool'
      ? {
          toolName: message.toolName,
          toolCallId: message.toolCallId,
          status: message.status,
          call: call.slice(0, CALL_IN_RESULT).toWellFormed(),
          ...definedFields({ searched: message.searched }),
        }
      : {}
  const ofCall = make('tool_call', 'c', tool, message.createdAt)
  if (message.role === 'tool')
    return { ofCall, ofText: make('tool_result', 'r', tool, message.completedAt ?? message.createdAt) }
  if (message.role === 'user') {
    const task = isLeaders(message) ? {} : { task: true }
    return { ofCall, ofText: make('user', 'u', task, message.createdAt) }
  }
  const ratings = ratingsOf(message.feedback)
  const feedback = ratings.length === 0 ? {} : { feedback: ratings }
  const searched = message.searched === true ? { searched: true } : {}
  return { ofCall, ofText: make('assistant', 'a', { ...searched, ...feedback }, message.createdAt) }
}

function* documentsOf(make: Make, pieces: readonly string[]): Generator<HistoryDocument> {
  const chunker = createChunker()
  for (const [index, chunk] of [...pieces.flatMap((piece) => chunker.take(piece)), ...chunker.end()].entries())
    yield* documentOf(make, chunk, index)
}

function* documentOf(make: Make, chunk: string, index: number): Generator<HistoryDocument> {
  if (chunk.trim() !== '') yield make(chunk, index)
}
