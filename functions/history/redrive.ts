import type { FailedBatch, FailedBatches, FailedChange } from '../ports/failed-indexing.ts'
import type { HistoryWriter, DeadLetter, DeadLetterSink } from '../ports/history-writer.ts'
import type { MessageRows, RowChange } from '../ports/message-rows.ts'
import { indexMessages, type IndexDependencies } from './index-messages.ts'

interface Dependencies extends Omit<IndexDependencies, 'writer' | 'indexDeadLetters'> {
  readonly rows: Pick<MessageRows, 'row'>
  /** Opens a writer that dead-letters documents that the index rejects permanently. */
  readonly writer: (indexDeadLetters: DeadLetterSink) => Pick<HistoryWriter, 'write'>
}

export interface Redriven {
  /** Number of messages whose index entries now equal their rows. The entries of deleted messages are removed. */
  readonly done: number
  /** Messages that still cannot be indexed. They remain dead-lettered. */
  readonly failed: readonly { readonly messageId: string; readonly error: string }[]
  /**
   * The error, such as an error of the index, that ended the redrive before all batches were processed. The remaining batches
   * stay dead-lettered.
   */
  readonly stoppedBy?: Error
}

/**
 * Indexes dead-lettered messages again, from their current rows. The dead-lettered change is not used, because the index may
 * already have a newer one. A message that fails again remains dead-lettered. Never rejects: an error is returned together with
 * the results so far.
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

/** Returns one change per message. If there are several, a removal wins, because it is always the last. */
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
