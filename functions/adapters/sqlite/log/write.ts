import type { Clock } from '../../../ports/clock.ts'
import type { Database } from '../database.ts'
import type { HistoryProjection } from '../history/documents/projection.ts'
import { sharedTransaction } from './shared-commit.ts'

export interface LogDependencies {
  readonly database: Database
  readonly clock: Clock
  /**
   * Id of this process in its leases. If undefined, its leases belong to no process, and last until they expire
   * (`process-leases.ts`).
   */
  readonly process?: string | undefined
  readonly history: Pick<HistoryProjection, 'written'>
}

/**
 * Runs `work`, which may write messages, as one transaction. When this resolves, everything is durable and will be
 * indexed.
 */
export async function writeLog<Result>({ database, history }: LogDependencies, work: () => Result): Promise<Result> {
  const result = await sharedTransaction(database, work)
  history.written()
  return result
}
