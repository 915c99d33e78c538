import { supersededBy } from '../../domain/runs/replacement.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { ClosedMedia, ClosedMessage, ClosedPart, ClosedToolMessage } from '../../domain/messages/closed-message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { OPEN_STATUSES, STATUS_TEXT, textOf } from '../../domain/messages/message.ts'
import type { MediaPart, Message, Output, Part, TextPart, ToolMessage } from '../../domain/messages/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Source } from '../../domain/messages/source.ts'
import { createMemberCalls, type MemberCalls } from '../../log/import/member-calls.ts'
import { createOpenRounds, loopOf, type OpenRounds } from '../../log/import/open-rounds.ts'
import { hasSources } from '../../log/sources.ts'
import { outputText } from '../../log/output-text.ts'
import { goneText } from '../../log/tool-result-text.ts'
import type { Logger } from '../../ports/logger.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { OutputStore } from '../../ports/output-store.ts'

interface Dependencies {
  readonly reader: LogReader
  readonly outputs: Pick<OutputStore, 'read'>
  readonly logger: Pick<Logger, 'warn'>
}

/** Page size in messages and in characters. */
const PAGE = 100
const PAGE_CHARACTERS = 512 * 1024

/**
 * Reads the messages of a log from its first up to and including `through`, in order, one page at a time. Rejects with
 * `session_not_found` if the log ends earlier. The session was then deleted during the read: a deleted log reads as empty.
 */
async function* messagesThrough(
  { reader }: Pick<Dependencies, 'reader'>,
  key: SessionKey,
  through: string,
): AsyncGenerator<Message> {
  for (let after: string | undefined; ;) {
    const page = await reader.messages(key, {
      order: 'ascending',
      limit: PAGE,
      mostCharacters: PAGE_CHARACTERS,
      ...definedFields({ after }),
    })
    for (const message of page.messages) {
      if (message.id > through) return
      yield message
    }
    after = page.messages.at(-1)?.id
    if (after === through) return
    if (!page.more || after === undefined) throw deletedMeanwhile(key)
  }
}

/** Creates the error for a log that ends before the expected last message. */
export const deletedMeanwhile = ({ session }: SessionKey): TooltrailError =>
  new TooltrailError('session_not_found', `session ${session} was deleted while its log was read`)

/** Returns the id of a log's last message; undefined for an empty log. */
export async function lastMessageId(
  { reader }: Pick<Dependencies, 'reader'>,
  key: SessionKey,
): Promise<string | undefined> {
  const { messages } = await reader.messages(key, { order: 'descending', limit: 1 })
  return messages[0]?.id
}

/** Appended to a text if only its preview is left. */
export const LOST_TEXT = '[The full text is no longer available to view]'

/**
 * Reads the full text of a tool message's offloaded output. Returns undefined if no output was offloaded: the message then
 * has the whole text. If the object is lost, returns the preview and a note.
 */
export const wholeOutput = (
  dependencies: Dependencies,
  key: SessionKey,
  { output, parts }: Pick<ToolMessage, 'output' | 'parts'>,
): Promise<string | undefined> => wholeText(dependencies, key, output, textOf(parts))

async function wholeText(
  dependencies: Dependencies,
  key: SessionKey,
  output: Output | undefined,
  preview: string,
): Promise<string | undefined> {
  const object = output?.object
  if (output === undefined || object === undefined) return undefined
  const read = async (): Promise<string> => {
    let text = ''
    for await (const piece of outputText((range) => dependencies.outputs.read(key, object, range), output))
      text += piece
    return text
  }
  return unlessLost(dependencies, key, object, read, () => `${preview}\n\n${LOST_TEXT}`)
}

/** Reads the bytes of an image or a file, and returns the result of `found`. If they are lost, returns a note instead. */
export const mediaOrNote = <Found>(
  dependencies: Dependencies,
  key: SessionKey,
  part: MediaPart,
  found: (data: Uint8Array) => Found,
): Promise<Found | TextPart> =>
  unlessLost<Found | TextPart>(
    dependencies,
    key,
    part.id,
    async () => found(await dependencies.outputs.read(key, part.id)),
    () => ({ type: 'text', text: goneText(part) }),
  )

/**
 * Reads an object. If the object is lost, returns its replacement and logs a warning, so that a copy or an export can continue
 * (promises O4).
 */
async function unlessLost<Content>(
  dependencies: Dependencies,
  key: SessionKey,
  object: string,
  read: () => Promise<Content>,
  instead: () => Content,
): Promise<Content> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof TooltrailError) || error.code !== 'output_not_found') throw error
    if ((await lastMessageId(dependencies, key)) === undefined) throw deletedMeanwhile(key)
    dependencies.logger.warn('an object is lost: a note takes its place', { ...key, object })
    return instead()
  }
}

/** Returns the sources of a tool message with their full texts; undefined if the message has no sources. */
export async function wholeSources(
  dependencies: Dependencies,
  key: SessionKey,
  { sources }: ToolMessage,
): Promise<Source[] | undefined> {
  if (sources === undefined || sources.length === 0) return undefined
  return Promise.all(
    sources.map(async ({ output, ...source }) => {
      const text = await wholeText(dependencies, key, output, source.text ?? '')
      return text === undefined ? source : { ...source, text }
    }),
  )
}

/** Reads a log, up to and including `through`, as closed messages with their contents. */
export async function* closedLog(
  dependencies: Dependencies,
  key: SessionKey,
  through: string,
): AsyncGenerator<ClosedMessage> {
  const rounds = createOpenRounds()
  const calls = createMemberCalls()
  const replacements = await dependencies.reader.replacements(key)
  for await (const message of messagesThrough(dependencies, key, through)) {
    const base = baseOf(message, calls, supersededBy(replacements, message.runId))
    if (message.role === 'tool') {
      const closed = await toolOf(dependencies, key, message, { base, rounds, calls })
      if (closed !== undefined) yield closed
      continue
    }
    const spoken = await spokenOf(dependencies, key, message, { ...base, calls })
    yield* rounds.closedBy(spoken)
    yield spoken
  }
  yield* rounds.end()
}

function baseOf(
  { agent, parentToolCallId, parentMessageId, round, createdAt, runId: run }: Message,
  calls: MemberCalls,
  by: string | undefined,
) {
  const parent = calls.parentOf({ run, parentToolCallId, parentMessageId })
  return { agent, round, createdAt, run, ...definedFields({ parentToolCallId, parent, supersededBy: by }) }
}
type Base = ReturnType<typeof baseOf>

async function spokenOf(
  dependencies: Dependencies,
  key: SessionKey,
  message: Exclude<Message, ToolMessage>,
  { calls, ...base }: Base & { readonly calls: MemberCalls },
): Promise<Exclude<ClosedMessage, ClosedToolMessage>> {
  if (message.role === 'user') {
    const { user, metadata } = message
    const parts = await withBytes(dependencies, key, message.parts)
    return { ...base, role: 'user', parts, ...definedFields({ user, metadata }) }
  }
  const { parts, toolCalls, model, requestedModel, finishReason, usage, searched, feedback } = message
  const numbered = calls.numbersOf(message.numbered ?? [])
  const known = definedFields({ model, requestedModel, finishReason, usage, searched, numbered, feedback })
  return { ...base, role: 'assistant', parts, toolCalls, ...known }
}

/** Converts a result. Returns undefined for a result without its call; requests omit it too (promises R2). */
async function toolOf(
  dependencies: Dependencies,
  key: SessionKey,
  message: ToolMessage,
  { base, rounds, calls }: { readonly base: Base; readonly rounds: OpenRounds; readonly calls: MemberCalls },
): Promise<ClosedToolMessage | undefined> {
  const found = rounds.take(loopOf(base), message.toolCallId, message.sequence)
  if (found === undefined) return undefined
  const { toolCallId, sequence } = message
  const count = hasSources(message) && message.output !== undefined ? { sources: message.sources.length } : {}
  const named = calls.take(base, { toolCallId, sequence, ...count }, message.id)
  if (OPEN_STATUSES.includes(message.status))
    return {
      ...base,
      ...found,
      role: 'tool',
      named,
      status: 'interrupted',
      ...definedFields({ origin: message.origin, namespace: message.namespace }),
      parts: [{ type: 'text', text: STATUS_TEXT.interrupted }],
    }
  const whole = await wholeOutput(dependencies, key, message)
  const sources = await wholeSources(dependencies, key, message)
  const media = await withBytes(dependencies, key, message.parts)
  const data = message.parts.find((part) => part.type === 'data')?.data
  const { status, origin, namespace, output, completedAt, durationMs, searched, decision } = message
  return {
    ...base,
    ...found,
    role: 'tool',
    named,
    status,
    parts:
      whole === undefined ? media : [{ type: 'text', text: whole }, ...media.filter(({ type }) => type !== 'text')],
    ...definedFields({
      origin,
      namespace,
      data,
      mediaType: output?.mediaType,
      completedAt,
      durationMs,
      searched,
      decision,
      sources,
    }),
  }
}

async function withBytes(dependencies: Dependencies, key: SessionKey, parts: readonly Part[]): Promise<ClosedPart[]> {
  const found = parts.map(async (part): Promise<ClosedPart[]> => {
    if (part.type === 'text') return [part]
    if (part.type !== 'image' && part.type !== 'file') return []
    const { type, mediaType, filename } = part
    const media = (data: Uint8Array): ClosedMedia => ({ type, mediaType, data, ...definedFields({ filename }) })
    return [await mediaOrNote(dependencies, key, part, media)]
  })
  return (await Promise.all(found)).flat()
}
