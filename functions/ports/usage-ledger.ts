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

/** Limit of the session rows that one query may read. */
export const MAX_USAGE_ROWS = 10_000

/**
 * The usage of completions. A stored completion is counted once, in the write that stores it, on the day on which it
 * was made. Counts stay when the session is deleted: they are what a provider bills, and hold no content.
 */
export interface UsageLedger {
  /** Counts a completion that is not stored, even if its session is gone. A repeated call counts it again. */
  count(key: SessionKey, completion: CountedCompletion, account: UsageAccount): Promise<void>
  /**
   * Sums by group and model, in no order. Days, agents and models of a tenant are summed from rows whose number does
   * not grow with its sessions. Owners, sessions, and all data of one owner are summed from a few rows per session and
   * day. Rejects with `invalid_query` if that needs more than `MAX_USAGE_ROWS` rows.
   */
  sums(query: UsageQuery): Promise<readonly UsageSum[]>
}
