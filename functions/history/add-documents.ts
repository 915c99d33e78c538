import { definedFields } from '../domain/defined-fields.ts'
import { supersededBy, type Replacement } from '../domain/runs/replacement.ts'
import type { LogReader } from '../ports/log-reader.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { HistoryDocument } from '../domain/history.ts'
import type { ToolMessage } from '../domain/messages/message.ts'
import { outputText } from '../log/output-text.ts'
import { projectMessage, shownText, wholeText } from '../search/documents/documents.ts'
import type { DeadLetterSink } from '../ports/history-writer.ts'
import type { MessageRow } from '../ports/message-rows.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { SessionStore } from '../ports/session-store.ts'

export interface DocumentDependencies {
  readonly sessions: Pick<SessionStore, 'read'>
  readonly reader: Pick<LogReader, 'replacements'>
  readonly outputs: Pick<OutputStore, 'read'>
  readonly indexDeadLetters: DeadLetterSink
}

/**
 * Why a change is not indexed yet; undefined if it is indexed. `index`: the index failed. `unread`:
 * the message could not be read. `late`: the time limit was reached first.
 */
export type Failure = { readonly error: string; readonly cause: 'index' | 'unread' | 'late' } | undefined

/** The properties of a session that is not deleted. */
export interface Live {
  readonly owner?: string
  readonly replacements: readonly Replacement[]
}

interface Adding {
  readonly stored: MessageRow
  readonly session: Live
  readonly signal: AbortSignal | undefined
}

type Add = (document: HistoryDocument) => Promise<void>
type ReadOutput = (message: ToolMessage) => AsyncIterable<string>

/**
 * Passes the documents of a message to `add`, one after another. Returns why documents are missing, if any are. Rejects
 * if `add` rejects.
 */
export async function addDocuments(dependencies: DocumentDependencies, adding: Adding, add: Add): Promise<Failure> {
  const { key } = adding.stored
  const { outputs } = dependencies
  const readWhole: ReadOutput = (message) =>
    wholeText(message, (object, output) => outputText((range) => outputs.read(key, object, range), output))
  const added = await addAll(adding, add, readWhole)
  if (!('unread' in added)) return added.failure
  const error = added.unread
  if (!(error instanceof TooltrailError) || error.code !== 'output_not_found')
    return spoiled(dependencies, adding.stored, error)
  // The outputs of a deleted session are missing on purpose.
  if ((await dependencies.sessions.read(key)) === undefined) return undefined
  const failure = await spoiled(dependencies, adding.stored, new Error(`its output is gone: ${error.message}`))
  if (failure !== undefined) return failure
  const again = await addAll(adding, add, readPreview)
  return 'unread' in again ? spoiled(dependencies, adding.stored, again.unread) : again.failure
}

const LATE = { error: 'there was no time to index all of it', cause: 'late' } as const

async function* readPreview(message: ToolMessage): AsyncGenerator<string> {
  yield shownText(message)
}

/** Adds all documents of a message. The result's `unread` is the error if the message cannot be read to its end. */
async function addAll(
  { stored, session, signal }: Adding,
  add: Add,
  readOutput: ReadOutput,
): Promise<{ readonly unread: unknown } | { readonly failure: Failure }> {
  const documents = documentsOf(stored, session, readOutput)
  for (;;) {
    let next
    try {
      next = await documents.next()
    } catch (error) {
      return { unread: error }
    }
    if (next.done === true) return { failure: undefined }
    if (signal?.aborted === true) return { failure: LATE }
    await add(next.value)
  }
}

async function* documentsOf(
  stored: MessageRow,
  { owner, replacements }: Live,
  readOutput: ReadOutput,
): AsyncGenerator<HistoryDocument> {
  const message = await stored.message()
  const superseded = supersededBy(replacements, message.runId) !== undefined
  yield* projectMessage(message, { key: stored.key, superseded, ...definedFields({ owner }) }, readOutput)
}

/**
 * Handles a message that could not be read. A store that is down throws a `TooltrailError`, so the message is retried.
 * Any other error is permanent: the message is dead-lettered, so that it does not block other messages.
 */
async function spoiled(
  { indexDeadLetters }: DocumentDependencies,
  { key, messageId }: MessageRow,
  error: unknown,
): Promise<Failure> {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  if (error instanceof TooltrailError) return { error: text, cause: 'unread' }
  try {
    await indexDeadLetters.send({ tenant: key.tenant, session: key.session, messageId, error: text })
    return undefined
  } catch (cause) {
    return { error: cause instanceof Error ? cause.message : String(cause), cause: 'unread' }
  }
}
