import type { JsonObject } from '../domain/json.ts'
import type { SessionContext, Summary, SummaryWork } from '../domain/context.ts'
import type { ForkedFrom, Session, SessionHeader, SessionKey, SessionLabel } from '../domain/session.ts'
import type { SessionConditions, SessionFilter } from '../domain/session-filter.ts'
import type { SessionTitle, TitleSource } from '../domain/session-title.ts'
import type { UsageAccount } from '../domain/usage/usage-count.ts'
import type { NewRun } from './run-inbox.ts'

export interface NewSession extends SessionKey {
  readonly agent: string
  readonly owner?: string
  readonly user?: string
  readonly title?: string
  /** Of `title`. Default: `given`. */
  readonly titleSource?: TitleSource
  readonly instructions?: string
  readonly metadata: JsonObject
  readonly ownerBound?: true
  readonly byChannel?: true
  readonly forkedFrom?: ForkedFrom
  /** Days without activity after which the session is deleted. */
  readonly ttlDays?: number
}

/** An absent field stays as it is; null removes it. */
export interface SessionChange {
  readonly user?: string | null
  readonly title?: string | null
  readonly metadata?: JsonObject
  readonly agent?: string
  readonly instructions?: string | null
}

type Idempotency = NonNullable<NewRun['idempotency']>

export interface SummaryByHand {
  /** Counts for the session's owner and this key, among the agents as `summary`. */
  readonly work: SummaryWork
  readonly account: UsageAccount
  /** Left out: making it has failed, and only its work counts. */
  readonly context?: SessionContext & { readonly summary: Summary }
  /** The last message of the summary that it takes the place of. */
  readonly from?: string
  readonly idempotency?: Idempotency
}

/** What an importing program, or the log of another store, says of a session. */
export interface SessionAbout {
  /** Stored if it replaces the present one (`replacesTitle`). */
  readonly title?: SessionTitle
  /** Replaces these fields and keeps the others. */
  readonly metadata?: JsonObject
}

/** A model's work on a title. */
export interface TitleByModel {
  /** Left out: making it has failed, and only the work counts. */
  readonly title?: string
  /** Counts for the session's owner and the run's key, among the agents as `title`. */
  readonly work: SummaryWork
  readonly account: UsageAccount
}

/**
 * Sessions as their users see them. Reads see every write that was acknowledged before.
 *
 * Writes of other ports keep the title, the messages and the places in lists up to date, in the same write: `RunInbox.enqueue`
 * and `LogImport.append` store the opening of the first input that makes one (`log/title.ts`), and its title if the session has
 * none. Each write that appends messages counts them (`withMessages`).
 *
 * A session that an earlier version stored has none of this. Reads and lists show what is at hand instead, and the next write
 * that counts or titles stores it.
 */
export interface SessionStore {
  /** Rejects with `session_exists` if the id is taken, or was deleted less than 30 days ago. */
  create(session: NewSession): Promise<Session>
  /** Undefined for unknown and deleted sessions. */
  read(key: SessionKey): Promise<Session | undefined>
  /** Those of these sessions that are neither unknown nor deleted, in one read however many they are. */
  living(tenant: string, sessions: readonly string[]): Promise<ReadonlySet<string>>
  /** The labels of those of these sessions that are neither unknown nor deleted, in one read however many they are. */
  readLabels(tenant: string, sessions: readonly string[]): Promise<ReadonlyMap<string, SessionLabel>>
  /**
   * The ids of all sessions that fit these conditions, in any order; undefined if they may be more than `MAX_COMPARED_SESSIONS`, or
   * if finding them takes comparing more than that many. Sessions that fit no longer, or that were deleted, may be among them.
   */
  findIds(conditions: SessionConditions): Promise<readonly string[] | undefined>
  /**
   * Sorted by the time that `sort` names; sessions of the same time stand in an order of the store's own, which does not change.
   * Sorted by `last_message_at`, sessions without messages come last whatever the order, and have no time that `since` or
   * `until` could fit.
   *
   * The cost of a page does not grow with the number of sessions. At most one of `owner`, `agent`, `runStatus`, `folder` and
   * `source` (the last two exact) costs no more than none: its page is full. For all other conditions a store compares at most
   * `MAX_COMPARED_SESSIONS` sessions a page. The page may then be short, or empty, although more sessions follow: `next` says so.
   *
   * A session that moves between two pages may be seen twice. One that moves to a place before the cursor is seen by the next
   * reader who starts over: no session is missed for good. While a run is under way, a store may keep the session at the place
   * of its last message at the start of the run. `next` has at most 40 characters. Rejects with `cursor_not_found` for a cursor of
   * another list, or none.
   */
  list(filter: SessionFilter): Promise<{ sessions: readonly Session[]; next?: string }>
  /**
   * A title becomes `given`; null removes it, and the opening of the first input makes the title again. Rejects with
   * `session_not_found`. Fenced: it never touches a deleted session.
   */
  update(key: SessionKey, change: SessionChange): Promise<Session>
  /** Does not count as activity. Safe to repeat. Rejects with `session_not_found`. */
  describe(key: SessionKey, about: SessionAbout): Promise<void>
  /**
   * Counts the work, and stores the title if it replaces the present one. Does not count as activity. For a deleted session
   * only the work is counted.
   */
  recordTitle(key: SessionKey, made: TitleByModel): Promise<void>
  /** The summary that was made by hand under this key. Rejects with `idempotency_conflict` when the key was used for another request. */
  summaryUnder(key: SessionKey, idempotency: Idempotency): Promise<Summary | undefined>
  /**
   * Stores a summary made by hand, and counts what it took, on condition that no run is active and nobody has worked on the session since `seen`,
   * and that its summary is still `made.from`. Returns false when that does not hold: then only the work is counted.
   * Rejects with `session_not_found`, and counts the work nevertheless.
   */
  recordSummary(seen: SessionHeader, made: SummaryByHand): Promise<boolean>
  /** Sets `ownerBound` for good, without counting as activity. Rejects with `session_not_found`. */
  bindToOwner(key: SessionKey): Promise<void>
}
