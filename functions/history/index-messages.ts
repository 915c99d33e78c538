import { TooltrailError } from '../domain/errors.ts'
import type { HistoryDocument } from '../domain/history.ts'
import { textOf, type ToolMessage } from '../domain/message.ts'
import type { SessionKey } from '../domain/session.ts'
import { documentParts } from '../search/document-parts.ts'
import { projectMessage } from '../search/documents.ts'
import { encodingOf } from '../log/output-encoding.ts'
import type { HistoryChange, HistoryWriter, PoisonSink } from '../ports/history-writer.ts'
import type { MessageRow, RowChange } from '../ports/message-rows.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { SessionStore } from '../ports/session-store.ts'

export interface IndexDependencies {
  readonly sessions: Pick<SessionStore, 'read'>
  readonly outputs: Pick<OutputStore, 'read'>
  readonly writer: Pick<HistoryWriter, 'write'>
  readonly poison: PoisonSink
  readonly redact: (text: string) => Promise<string>
}

/** Why a change is not in the index for now; undefined when it is done. */
export type Failure = { readonly error: string } | undefined

/** Messages that are looked at together. */
const AT_ONCE = 32
/** Of these, those that are read side by side; an output may be of any length. */
const PREPARED_AT_ONCE = 4
/** UTF-16 units of documents that wait to be stored together. */
const UNITS_AT_ONCE = 4_000_000
/** Bytes that one read of an offloaded output asks for. */
const READ_BYTES = 4_194_304

/**
 * Brings the index to what these rows say; answers for each change why it failed, in their order. Late, doubled and reordered
 * changes do no harm. Nothing of a deleted session is left behind: it is looked for before writing, and once more afterwards,
 * for the index forgets what was removed sooner than a late change can arrive.
 */
export async function indexMessages(
  dependencies: IndexDependencies,
  changes: readonly RowChange[],
): Promise<readonly Failure[]> {
  const failures: Failure[] = []
  for (let start = 0; start < changes.length; start += AT_ONCE)
    failures.push(...(await indexSome(dependencies, changes.slice(start, start + AT_ONCE))))
  return failures
}

interface Task {
  readonly id: string
  readonly change: RowChange
}

async function indexSome(dependencies: IndexDependencies, changes: readonly RowChange[]): Promise<Failure[]> {
  const tasks = changes.map((change): Task => ({ id: idOf(change), change }))
  // Of several states of one message the newest is enough.
  const newest = new Map<string, RowChange>()
  for (const { id, change } of tasks) {
    const before = newest.get(id)
    if (before === undefined || versionOf(before) <= versionOf(change)) newest.set(id, change)
  }
  const done = new Map<string, Failure>()
  const live = await readOwners(dependencies, [...newest.values()])
  const removals = await storeAll(dependencies, live, newest, done)
  const after = await readOwners(
    dependencies,
    removals.map(({ write }) => write),
  )
  const late = removals.filter(({ write }) => after.get(sessionOf(write.key)) === undefined)
  await store(dependencies, late, done)
  return tasks.map(({ id }) => done.get(id))
}

interface Writing {
  readonly id: string
  readonly write: HistoryChange
}

/** Stores a few messages at a time, of bounded length together; answers how what was added would be removed again. */
async function storeAll(
  dependencies: IndexDependencies,
  live: ReadonlyMap<string, Live | undefined>,
  newest: ReadonlyMap<string, RowChange>,
  done: Map<string, Failure>,
): Promise<Writing[]> {
  const removals: Writing[] = []
  const changes = [...newest]
  let waiting: Writing[] = []
  let units = 0
  for (let start = 0; start < changes.length; start += PREPARED_AT_ONCE) {
    const prepared = await Promise.all(
      changes
        .slice(start, start + PREPARED_AT_ONCE)
        .map(async ([id, change]) => ({ id, ...(await prepare(dependencies, live, change)) })),
    )
    for (const { id, write, failure } of prepared) {
      done.set(id, failure)
      if (write === undefined) continue
      waiting.push({ id, write })
      units += write.documents.reduce((sum, { text }) => sum + text.length, 0)
      if (write.documents.length > 0) removals.push({ id, write: undone(write) })
    }
    if (units < UNITS_AT_ONCE) continue
    await store(dependencies, waiting, done)
    waiting = []
    units = 0
  }
  await store(dependencies, waiting, done)
  return removals
}

interface Prepared {
  readonly write?: HistoryChange
  readonly failure?: Failure
}

async function prepare(
  dependencies: IndexDependencies,
  live: ReadonlyMap<string, Live | undefined>,
  change: RowChange,
): Promise<Prepared> {
  if ('removed' in change) {
    const { key, messageId, revision, role, documents } = change.removed
    return { write: { key, messageId, revision: revision + 1, documents: [], removed: documentParts(role, documents) } }
  }
  const { key, messageId, revision } = change.stored
  const session = live.get(sessionOf(key))
  if (session === undefined) return {}
  const { outputs } = dependencies
  try {
    const documents = await project(dependencies, change.stored, session, (tool) => readPieces(outputs, key, tool))
    return { write: { key, messageId, revision, documents, removed: [] } }
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'output_not_found')
      return withoutOutput(dependencies, change.stored, session, error)
    return spoiled(dependencies, change.stored, error)
  }
}

async function project(
  { redact }: IndexDependencies,
  { key, message }: MessageRow,
  { owner }: Live,
  readOutput: (message: ToolMessage) => Promise<string>,
): Promise<HistoryDocument[]> {
  const session = owner === undefined ? { key } : { key, owner }
  return projectMessage(await message(), session, { redact, readOutput })
}

/** Of a message whose output is gone the preview is indexed, and people are told; outputs of a session that is gone went with it. */
async function withoutOutput(
  dependencies: IndexDependencies,
  stored: MessageRow,
  session: Live,
  error: TooltrailError,
): Promise<Prepared> {
  const { key, messageId, revision } = stored
  if ((await dependencies.sessions.read(key)) === undefined) return {}
  const { failure } = await spoiled(dependencies, stored, new Error(`its output is gone: ${error.message}`))
  if (failure !== undefined) return { failure }
  const documents = await project(dependencies, stored, session, async ({ parts }) => textOf(parts))
  return { write: { key, messageId, revision, documents, removed: [] } }
}

/** A store that is down says so, and will come back. What cannot be read will not: it must not hold up the others. */
async function spoiled(
  { poison }: IndexDependencies,
  { key, messageId }: MessageRow,
  error: unknown,
): Promise<Prepared> {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  if (error instanceof TooltrailError) return { failure: { error: text } }
  try {
    await poison.send({ tenant: key.tenant, session: key.session, messageId, error: text })
    return {}
  } catch (cause) {
    return { failure: { error: cause instanceof Error ? cause.message : String(cause) } }
  }
}

async function store(
  { writer }: IndexDependencies,
  writes: readonly Writing[],
  done: Map<string, Failure>,
): Promise<void> {
  if (writes.length === 0) return
  const outcomes = await writer.write(writes.map(({ write }) => write))
  for (const [place, { id }] of writes.entries()) {
    const outcome = outcomes[place]
    if (outcome?.done !== true) done.set(id, { error: outcome?.error ?? 'not answered' })
  }
}

/** The removal of what was just written. */
const undone = ({ key, messageId, revision, documents }: HistoryChange): HistoryChange => ({
  key,
  messageId,
  revision: revision + 1,
  documents: [],
  removed: documents.map(({ part }) => part),
})

interface Live {
  readonly owner?: string
}

/** Read strongly: whose the sessions are, by session; undefined for deleted ones. */
async function readOwners(
  { sessions }: IndexDependencies,
  changes: readonly (RowChange | HistoryChange)[],
): Promise<ReadonlyMap<string, Live | undefined>> {
  const keys = new Map(changes.filter(isStored).map((change) => [sessionOf(keyOf(change)), keyOf(change)]))
  return new Map(await Promise.all(Array.from(keys, async ([id, key]) => [id, await sessions.read(key)] as const)))
}

const isStored = (change: RowChange | HistoryChange): boolean => !('removed' in change) || 'documents' in change
const keyOf = (change: RowChange | HistoryChange): SessionKey =>
  'key' in change ? change.key : 'stored' in change ? change.stored.key : change.removed.key
const rowOf = (change: RowChange) => ('stored' in change ? change.stored : change.removed)
const idOf = (change: RowChange): string => `${sessionOf(rowOf(change).key)} ${rowOf(change).messageId}`
const versionOf = (change: RowChange): number => rowOf(change).revision + ('removed' in change ? 1 : 0)
const sessionOf = ({ tenant, session }: SessionKey): string => `${tenant} ${session}`

/** The whole text of an offloaded result, piece by piece. */
async function readPieces(
  outputs: Pick<OutputStore, 'read'>,
  key: SessionKey,
  { id, output }: ToolMessage,
): Promise<string> {
  if (output?.object === undefined) throw new TypeError(`message ${id} has no offloaded output`)
  const decoder = new TextDecoder(encodingOf(output.mediaType))
  let text = ''
  for (let start = 0; start < output.bytes; start += READ_BYTES) {
    const end = Math.min(output.bytes, start + READ_BYTES) - 1
    text += decoder.decode(await outputs.read(key, output.object, { start, end }), { stream: true })
  }
  return text + decoder.decode()
}
