import type { SessionKey } from '../domain/session.ts'
import type { RemovedRow } from './message-rows.ts'

/** A change of a message row that did not reach the history index. */
export interface FailedChange {
  readonly key: SessionKey
  readonly messageId: string
  /** The last state of the row, if the change removed it. */
  readonly removed?: RemovedRow
}

/** Changes that were dead-lettered together. They stay dead-lettered until `forget` is called. */
export interface FailedBatch {
  readonly changes: readonly FailedChange[]
  /** Removes the batch, after its changes were processed. */
  forget(): Promise<void>
}

/** All dead-lettered batches, each once. A batch that is added during the iteration may be missing. */
export type FailedBatches = AsyncIterable<FailedBatch>
