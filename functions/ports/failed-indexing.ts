import type { SessionKey } from '../domain/session.ts'
import type { RemovedRow } from './message-rows.ts'

/** A change of a message row that did not reach the history index. */
export interface FailedChange {
  readonly key: SessionKey
  readonly messageId: string
  /** The row in its last state, if the change was its removal. */
  readonly removed?: RemovedRow
}

/** Changes that were put aside together. They stay put aside until they are forgotten. */
export interface FailedBatch {
  readonly changes: readonly FailedChange[]
  /** Removes them: they have been dealt with. */
  forget(): Promise<void>
}

/** What was put aside, each batch once. What is put aside meanwhile may be included or not. */
export type FailedBatches = AsyncIterable<FailedBatch>
