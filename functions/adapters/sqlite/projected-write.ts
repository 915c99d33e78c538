import { isDeepStrictEqual } from 'node:util'
import { TooltrailError } from '../../domain/errors.ts'
import type { HistoryDocument } from '../../domain/history.ts'
import type { Message } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import { readOne, type Database } from './database.ts'
import { fromColumn } from './exact-text.ts'
import type { HistoryProjection } from './history-projection.ts'
import { sharedTransaction } from './shared-commit.ts'

export interface LogDependencies {
  readonly database: Database
  readonly clock: Clock
  readonly history: HistoryProjection
}

export interface Written<Answer> {
  readonly answer: Answer
  /** Messages added or changed: their documents are replaced in the same transaction. */
  readonly written: readonly Message[]
}

/** A message and the documents that it makes. */
interface Projected {
  readonly message: Message
  readonly documents: readonly HistoryDocument[]
}

/** Each attempt fails only when another process has written to this very session meanwhile. */
const ATTEMPTS = 16

class NotProjected extends Error {
  readonly messages: readonly Message[]

  constructor(messages: readonly Message[]) {
    super('documents are to be computed first')
    this.name = 'NotProjected'
    this.messages = messages
  }
}

/**
 * Runs `work` as one transaction that also brings the history index up to date with what `work` says it has written. Documents
 * take time to compute and a transaction must not wait, so those of the `expected` messages are made before; where `work` turns
 * out to write another message, the transaction is rolled back, the documents are made, and `work` runs again: it must do the
 * same on the same state.
 */
export async function writeProjected<Answer>(
  { database, history }: LogDependencies,
  key: SessionKey,
  expected: readonly Message[],
  work: () => Written<Answer>,
): Promise<Answer> {
  const session = { key: { tenant: key.tenant, session: key.session } }
  const known = new Map<string, Projected>()
  let wanted = expected
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const computed = await Promise.all(wanted.map((message) => history.documents(message, session)))
    for (const [place, message] of wanted.entries())
      known.set(message.id, { message, documents: computed[place] ?? [] })
    try {
      return await sharedTransaction(database, () => commitProjected(database, history, session.key, known, work))
    } catch (error) {
      if (!(error instanceof NotProjected)) throw error
      wanted = error.messages
    }
  }
  throw new TooltrailError('storage_failed', `session ${key.session} kept changing during a write`, { retryable: true })
}

function commitProjected<Answer>(
  database: Database,
  history: HistoryProjection,
  key: SessionKey,
  known: ReadonlyMap<string, Projected>,
  work: () => Written<Answer>,
): Answer {
  const { answer, written } = work()
  if (written.length === 0) return answer
  const batch = written.map((message) => ({ message, documents: documentsOf(known, message) }))
  const missing = batch.flatMap(({ message, documents }) => (documents === undefined ? [message] : []))
  if (missing.length > 0) throw new NotProjected(missing)
  const owned = ownerOf(database, key)
  history.write(
    key,
    batch.map(({ message, documents = [] }) => ({
      messageId: message.id,
      documents: documents.map((document) => ({ ...document, ...owned })),
    })),
  )
  return answer
}

/** Undefined when the message is another than the one whose documents were made. */
function documentsOf(known: ReadonlyMap<string, Projected>, message: Message): readonly HistoryDocument[] | undefined {
  const projected = known.get(message.id)
  return projected !== undefined && isDeepStrictEqual(projected.message, message) ? projected.documents : undefined
}

function ownerOf(database: Database, { tenant, session }: SessionKey): { readonly owner?: string } {
  const sql = 'SELECT owner FROM sessions WHERE tenant = ? AND session = ?'
  const owner = readOne<{ owner: string | null }>(database, sql, tenant, session)?.owner ?? null
  return owner === null ? {} : { owner: fromColumn(owner) }
}
