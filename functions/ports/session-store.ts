import type { JsonObject } from '../domain/json.ts'
import type { RunStatus } from '../domain/runs/run.ts'
import type { SessionContext, Summary, SummaryWork } from '../domain/context.ts'
import type { ForkedFrom, Session, SessionHeader, SessionKey } from '../domain/session.ts'
import type { UsageAccount } from '../domain/usage/usage-count.ts'
import type { NewRun } from './run-inbox.ts'

export interface NewSession extends SessionKey {
  readonly agent: string
  readonly owner?: string
  readonly user?: string
  readonly title?: string
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

export interface SessionFilter {
  readonly tenant: string
  readonly owner?: string
  readonly agent?: string
  readonly runStatus?: RunStatus
  readonly limit: number
  readonly after?: string
}

/** Sessions as their users see them. Reads see every write that was acknowledged before. */
export interface SessionStore {
  /** Rejects with `session_exists` if the id is taken, or was deleted less than 30 days ago. */
  create(session: NewSession): Promise<Session>
  /** Undefined for unknown and deleted sessions. */
  read(key: SessionKey): Promise<Session | undefined>
  /** Those of these sessions that are neither unknown nor deleted, in one read however many they are. */
  living(tenant: string, sessions: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Newest activity first. A page may hold fewer than `limit` sessions, or none, although more follow: `next` says so.
   * This bounds the work for one page however few sessions match. A session that becomes active between two pages may
   * be seen twice, but is never missed for good. Rejects with `invalid_query` for a cursor that it did not issue.
   */
  list(filter: SessionFilter): Promise<{ sessions: readonly Session[]; next?: string }>
  /** Rejects with `session_not_found`. Fenced: it never touches a deleted session. */
  update(key: SessionKey, change: SessionChange): Promise<Session>
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
