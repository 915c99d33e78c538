import { TooltrailError } from '../domain/errors.ts'
import type { ToolMessage } from '../domain/message.ts'
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

/** Messages whose texts are in memory at once. */
const AT_ONCE = 32
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
  const prepared = await Promise.all(
    Array.from(newest, async ([id, change]) => ({ id, ...(await prepare(dependencies, live, change)) })),
  )
  for (const { id, failure } of prepared) done.set(id, failure)
  const writes = prepared.flatMap(({ id, write }) => (write === undefined ? [] : [{ id, write }]))
  await store(dependencies, writes, done)
  const added = writes.filter(({ write }) => write.documents.length > 0)
  const after = await readOwners(
    dependencies,
    added.map(({ write }) => write),
  )
  const late = added.filter(({ write }) => after.get(sessionOf(write.key)) === undefined)
  await store(
    dependencies,
    late.map(({ id, write }) => ({ id, write: undone(write) })),
    done,
  )
  return tasks.map(({ id }) => done.get(id))
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
  try {
    const documents = await project(dependencies, change.stored, session)
    return { write: { key, messageId, revision, documents, removed: [] } }
  } catch (error) {
    return spoiled(dependencies, change.stored, error)
  }
}

async function project({ outputs, redact }: IndexDependencies, { key, message }: MessageRow, { owner }: Live) {
  const session = owner === undefined ? { key } : { key, owner }
  return projectMessage(await message(), session, { redact, readOutput: (tool) => readOutput(outputs, key, tool) })
}

/** A store that is down says so, and will come back. What is gone or cannot be read will not: it must not hold up the others. */
async function spoiled(
  { poison, sessions }: IndexDependencies,
  { key, messageId }: MessageRow,
  error: unknown,
): Promise<Prepared> {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const gone = error instanceof TooltrailError && error.code === 'output_not_found'
  if (!gone && error instanceof TooltrailError) return { failure: { error: text } }
  try {
    // The outputs of a session go with it.
    if (gone && (await sessions.read(key)) === undefined) return {}
    await poison.send({ tenant: key.tenant, session: key.session, messageId, error: text })
    return {}
  } catch (cause) {
    return { failure: { error: cause instanceof Error ? cause.message : String(cause) } }
  }
}

async function store(
  { writer }: IndexDependencies,
  writes: readonly { readonly id: string; readonly write: HistoryChange }[],
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
async function readOutput(
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
