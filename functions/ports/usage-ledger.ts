import type { SessionKey } from '../domain/session.ts'
import type { CountedCompletion, UsageAccount } from '../domain/usage/usage-count.ts'
import type { UsageSum } from '../domain/usage/usage-sums.ts'

export type UsageGroup = 'day' | 'agent' | 'owner' | 'session' | 'model'

export interface UsageQuery {
  readonly tenant: string
  /** First and last day, both inclusive (UTC, such as `2026-11-22`). */
  readonly from: string
  readonly to: string
  readonly by: UsageGroup
  /** Only sessions of this owner. */
  readonly owner?: string
}

/** Maximum number of session rows that one query may read. */
export const MAX_USAGE_ROWS = 10_000

/**
 * The usage of completions. A stored completion is counted once, in the write that stores it, for the day on which it was made.
 * Counts remain when the session is deleted: the provider bills this usage, and the counts contain no content.
 */
export interface UsageLedger {
  /** Counts a completion that is not stored, even if its session is gone. A repeated call counts it again. */
  count(key: SessionKey, completion: CountedCompletion, account: UsageAccount): Promise<void>
  /**
   * Sums usage by group and model, in no order. If a tenant's usage is grouped by day, agent or model, the number of rows read
   * does not grow with the tenant's sessions. For groups by owner or session, and for any group of one owner, a few rows are read
   * per session and day. Rejects with `invalid_query` if more than `MAX_USAGE_ROWS` rows must be read.
   */
  sums(query: UsageQuery): Promise<readonly UsageSum[]>
}
