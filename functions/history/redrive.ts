import type { FailedBatch, FailedBatches, FailedChange } from '../ports/failed-indexing.ts'
import type { HistoryWriter, DeadLetter, DeadLetterSink } from '../ports/history-writer.ts'
import type { MessageRows, RowChange } from '../ports/message-rows.ts'
import { indexMessages, type IndexDependencies } from './index-messages.ts'

interface Dependencies extends Omit<IndexDependencies, 'writer' | 'indexDeadLetters'> {
  readonly rows: Pick<MessageRows, 'row'>
  /** Opens a writer that passes what can never be stored to this sink. */
  readonly writer: (indexDeadLetters: DeadLetterSink) => Pick<HistoryWriter, 'write'>
}

export interface Redriven {
  /** Messages that the index now holds as their rows are, or no longer holds because they are gone. */
  readonly done: number
  /** What still cannot be indexed. It stays put aside. */
  readonly failed: readonly { readonly messageId: string; readonly error: string }[]
  /** The error that ended the redrive early, such as a refusal by the index. The batches from there on stay put aside. */
  readonly stoppedBy?: Error
}

/**
 * Indexes what was put aside: from the rows as they are now, never from the stored change itself, which may be older
 * than what the index has. What fails again stays put aside. Never rejects: an error is returned with what was done before it.
 */
export async function redrive(dependencies: Dependencies, batches: FailedBatches): Promise<Redriven> {
  let done = 0
  const failed: Redriven['failed'][number][] = []
  try {
    for await (const batch of batches) {
      const failures = await redriveBatch(dependencies, batch)
      failed.push(...failures)
      done += changesOf(batch).length - failures.length
      if (failures.length === 0) await batch.forget()
    }
  } catch (error) {
    return { done, failed, stoppedBy: error instanceof Error ? error : new Error(String(error)) }
  }
  return { done, failed }
}

async function redriveBatch(dependencies: Dependencies, batch: FailedBatch): Promise<Redriven['failed']> {
  const refused: DeadLetter[] = []
  const indexDeadLetters: DeadLetterSink = { send: async (message) => void refused.push(message) }
  const changes: RowChange[] = []
  for (const { key, messageId, removed } of changesOf(batch)) {
    const stored = await dependencies.rows.row(key, messageId)
    if (stored !== undefined) changes.push({ stored })
    else if (removed !== undefined) changes.push({ removed })
  }
  const writer = dependencies.writer(indexDeadLetters)
  const failures = await indexMessages({ ...dependencies, writer, indexDeadLetters }, changes)
  const errors = new Map(refused.map(({ messageId, error }) => [messageId, error]))
  for (const [place, failure] of failures.entries()) {
    const change = changes[place]
    if (failure !== undefined && change !== undefined) errors.set(messageOf(change), failure.error)
  }
  return Array.from(errors, ([messageId, error]) => ({ messageId, error }))
}

/** One change per message. Of several, its removal, which comes last. */
function changesOf({ changes }: FailedBatch): FailedChange[] {
  const byMessage = new Map<string, FailedChange>()
  for (const change of changes) {
    const id = `${change.key.tenant} ${change.key.session} ${change.messageId}`
    if (!byMessage.has(id) || change.removed !== undefined) byMessage.set(id, change)
  }
  return [...byMessage.values()]
}

const messageOf = (change: RowChange): string =>
  'stored' in change ? change.stored.messageId : change.removed.messageId
