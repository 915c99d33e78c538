import type { SessionKey } from '../domain/session.ts'
import type { RemovedRow } from './message-rows.ts'

/** A change of a message row that did not reach the history index. */
export interface FailedChange {
  readonly key: SessionKey
  readonly messageId: string
  /** The row as it was last, where the change was its removal. */
  readonly removed?: RemovedRow
}

/** Changes that were put aside together. They stay put aside until they are forgotten. */
export interface FailedBatch {
  readonly changes: readonly FailedChange[]
  /** These need no one's attention any more. */
  forget(): Promise<void>
}

/** What was put aside. What comes in meanwhile may be among it or not; each batch comes once. */
export type FailedBatches = AsyncIterable<FailedBatch>
