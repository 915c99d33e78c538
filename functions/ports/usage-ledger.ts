import type { SessionKey } from '../domain/session.ts'
import type { CountedCompletion, UsageAccount } from '../domain/usage/usage-count.ts'
import type { UsageSum } from '../domain/usage/usage-sums.ts'

export type UsageGroup = 'day' | 'agent' | 'owner' | 'session' | 'model'

export interface UsageQuery {
  readonly tenant: string
  /** First and last day, both included (UTC, as `2026-11-22`). */
  readonly from: string
  readonly to: string
  readonly by: UsageGroup
  /** Of this owner's sessions alone. */
  readonly owner?: string
}

/** Rows of sessions that one query may take in. */
export const MAX_USAGE_ROWS = 10_000

/**
 * What completions have used. One that is stored is counted once, in the write that stores it, on the day on which it was made.
 * The counts stay when the session is deleted: they are what a provider bills, and hold no content.
 */
export interface UsageLedger {
  /** Counts a completion that is not stored, also for a session that is gone. To repeat it is to count it again. */
  count(key: SessionKey, completion: CountedCompletion, account: UsageAccount): Promise<void>
  /**
   * Sums by group and model, in no order. Days, agents and models of a tenant are summed from rows that do not grow with the
   * number of its sessions. Owners and sessions, and everything of one owner, are summed from a few rows for each session and day:
   * rejects with `invalid_query` when that takes in more than `MAX_USAGE_ROWS`.
   */
  sums(query: UsageQuery): Promise<readonly UsageSum[]>
}
