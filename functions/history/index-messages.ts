import { definedFields } from '../domain/defined-fields.ts'
import type { SessionKey } from '../domain/session.ts'
import { documentParts } from '../search/documents/document-parts.ts'
import type { HistoryWriter } from '../ports/history-writer.ts'
import type { MessageRow, RowChange } from '../ports/message-rows.ts'
import { addDocuments, type DocumentDependencies, type Failure, type Live } from './add-documents.ts'
import { createWriteBuffer, type Target } from './write-buffer.ts'

export interface IndexDependencies extends DocumentDependencies {
  readonly writer: Pick<HistoryWriter, 'write'>
}

/**
 * Added to the revision of a superseded message, because a replacement does not change the message's row. Documents
 * with this revision are newer than all documents from before the replacement. A replacement is never undone.
 */
const SUPERSEDED = 2 ** 40
/** Added to the revision of a removal, which is newer than all documents of its message. */
const REMOVED = 2 ** 41

/** Messages per batch. */
const AT_ONCE = 32
/** Number of messages of a batch that are read concurrently. */
const READ_AT_ONCE = 4

/**
 * Updates the index to the state of these rows. Returns for each change, in order, why it failed; undefined if it succeeded.
 * Late, duplicate and reordered changes are harmless. The function takes some MB of memory, even if outputs are long.
 * No text of a deleted session remains: the session is read before and after the write. A stored row of a deleted
 * session is treated as a removal, because a crashed indexer may have written the session's documents after their
 * removal.
 * Once `signal` aborts, no message is started, and messages in progress are finished.
 */
export async function indexMessages(
  dependencies: IndexDependencies,
  changes: readonly RowChange[],
  signal?: AbortSignal,
): Promise<readonly Failure[]> {
  const failures: Failure[] = []
  for (let start = 0; start < changes.length; start += AT_ONCE)
    failures.push(...(await indexSome(dependencies, changes.slice(start, start + AT_ONCE), signal)))
  return failures
}

async function indexSome(
  dependencies: IndexDependencies,
  changes: readonly RowChange[],
  signal: AbortSignal | undefined,
): Promise<Failure[]> {
  const newest = newestOf(changes)
  const live = await readOwners(dependencies, [...newest.values()].filter(isStored).map(keyOf))
  const done = new Map<string, Failure>()
  const buffer = createWriteBuffer(dependencies.writer, (id, error) => void done.set(id, { error, cause: 'index' }))
  const added: Added[] = []
  await eachOf(newest, async ([id, change]) => {
    if (signal?.aborted === true) return void done.set(id, LATE)
    const target = targetOf(change)
    const session = 'stored' in change ? live.get(sessionOf(target.key)) : undefined
    if (!isStored(change) || session === undefined) {
      const { role, documents, revision } = rowOf(change)
      const removal = { ...target, revision: revision + REMOVED }
      for (const part of documentParts(role, documents)) await buffer.remove(id, removal, part)
      return
    }
    const parts: string[] = []
    added.push({ id, target, parts })
    const failure = await addDocuments(dependencies, { stored: change.stored, session, signal }, async (document) => {
      parts.push(document.part)
      const isSuperseded = document.superseded === true
      await buffer.add(id, isSuperseded ? { ...target, revision: target.revision + SUPERSEDED } : target, document)
    })
    if (failure !== undefined) done.set(id, failure)
  })
  await buffer.flush()
  const after = await readOwners(
    dependencies,
    added.filter(({ parts }) => parts.length > 0).map(({ target }) => target.key),
  )
  for (const { id, target, parts } of added) {
    if (parts.length === 0 || after.get(sessionOf(target.key)) !== undefined) continue
    const removal = { ...target, revision: target.revision + REMOVED }
    for (const part of parts) await buffer.remove(id, removal, part)
  }
  await buffer.flush()
  return changes.map((change) => done.get(idOf(change)))
}

/** A message whose documents were written. They are removed again if its session was deleted during the write. */
interface Added {
  readonly id: string
  readonly target: Target
  readonly parts: string[]
}

const LATE = { error: 'there was no time left for it', cause: 'late' } as const

/** Keeps the newest change of each message. */
function newestOf(changes: readonly RowChange[]): Map<string, RowChange> {
  const newest = new Map<string, RowChange>()
  for (const change of changes) {
    const before = newest.get(idOf(change))
    if (before === undefined || targetOf(before).revision <= targetOf(change).revision) newest.set(idOf(change), change)
  }
  return newest
}

/** Processes items in order with limited concurrency. Rejects only after all started work has ended. */
async function eachOf<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  const workers = Array.from({ length: READ_AT_ONCE }, async () => {
    for (let next = left.next(); next.done !== true; next = left.next()) await work(next.value)
  })
  await Promise.allSettled(workers)
  await Promise.all(workers)
}

/** Reads the owner and the replacements of each session with strong reads; undefined for deleted sessions. */
async function readOwners(
  { sessions, reader }: IndexDependencies,
  keys: readonly SessionKey[],
): Promise<ReadonlyMap<string, Live | undefined>> {
  const distinct = new Map(keys.map((key) => [sessionOf(key), key]))
  const read = async (key: SessionKey): Promise<Live | undefined> => {
    const [session, replacements] = await Promise.all([sessions.read(key), reader.replacements(key)])
    return session && { replacements, ...definedFields({ owner: session.owner }) }
  }
  return new Map(await Promise.all(Array.from(distinct, async ([id, key]) => [id, await read(key)] as const)))
}

const isStored = (change: RowChange): change is { readonly stored: MessageRow } => 'stored' in change
const rowOf = (change: RowChange) => ('stored' in change ? change.stored : change.removed)
const keyOf = (change: RowChange): SessionKey => rowOf(change).key
const idOf = (change: RowChange): string => `${sessionOf(keyOf(change))} ${rowOf(change).messageId}`
const sessionOf = ({ tenant, session }: SessionKey): string => `${tenant} ${session}`

/** Returns the target of a change. The revision of a removal is one more than the row's last revision. */
function targetOf(change: RowChange): Target {
  const { key, messageId, revision } = rowOf(change)
  return { key, messageId, revision: revision + (isStored(change) ? 0 : 1) }
}
