import type { JsonObject } from '../domain/json.ts'
import type { SessionContext, Summary, SummaryWork } from '../domain/context.ts'
import type { Session, SessionHeader, SessionKey, SessionLabel } from '../domain/session.ts'
import type { SessionConditions, SessionFilter } from '../domain/session-filter.ts'
import type { SessionTitle } from '../domain/session-title.ts'
import type { UsageAccount } from '../domain/usage/usage-count.ts'
import type { NewRun } from './run-inbox.ts'

type GivenField =
  | keyof SessionKey
  | 'agent'
  | 'owner'
  | 'user'
  | 'title'
  | 'titleSource'
  | 'instructions'
  | 'metadata'
  | 'ownerBound'
  | 'byChannel'
  | 'forkedFrom'

/** A session to create. The default of `titleSource` is `given`. */
export interface NewSession extends Pick<Session, GivenField> {
  /**
   * Set if the session was created for a copy of a log. Until the copy is complete or the session has a run, the
   * session expires `COPY_EXPIRY_MS` after the latest step of the copy (`ImportStep.isPartOfCopy`).
   */
  readonly awaitsCopy?: true
  /** Days without activity after which the session is deleted. */
  readonly ttlDays?: number
}

/** Changes of a session. An absent field stays unchanged; null removes it. */
export interface SessionChange {
  readonly user?: string | null
  readonly title?: string | null
  readonly metadata?: JsonObject
  readonly agent?: string
  readonly instructions?: string | null
}

type Idempotency = NonNullable<NewRun['idempotency']>

export interface SummaryByHand {
  /** The usage of the model. It is counted for the session's owner and this key, under the agent name `summary`. */
  readonly work: SummaryWork
  readonly account: UsageAccount
  /** Undefined if the summary failed; then only its usage is counted. */
  readonly context?: SessionContext & { readonly summary: Summary }
  /** The last message that the previous summary covers. The new summary replaces the previous one. */
  readonly from?: string
  readonly idempotency?: Idempotency
}

/** A description of a session. It is written by a program that imports the session, or is taken from the log of another store. */
export interface SessionAbout {
  /** Stored if it may replace the existing title (`replacesTitle`). */
  readonly title?: SessionTitle
  /** Replaces these fields and keeps the others. */
  readonly metadata?: JsonObject
}

/** The result of a request to a model for a title. */
export interface TitleByModel {
  /** Undefined if the request failed; then only the usage is counted. */
  readonly title?: string
  /** The usage of the model. It is counted for the session's owner and the run's key, under the agent name `title`. */
  readonly work: SummaryWork
  readonly account: UsageAccount
}

/**
 * Sessions as users see them. Reads see every acknowledged write.
 *
 * Writes of other ports also update the title, the counts of messages and the entries in lists, in the same write.
 * `RunInbox.enqueue` and `LogImport.append` store the opening of the first input that has one (`log/title.ts`). Both also
 * store a title if the session has none. Each write that appends messages counts them (`withMessages`).
 *
 * A session stored by an earlier version lacks these fields. Reads and lists derive them from the data that exists, and the
 * next write that counts messages or sets a title stores them.
 */
export interface SessionStore {
  /** Creates a session. Rejects with `session_exists` if the id is taken, or was deleted less than 30 days ago. */
  create(session: NewSession): Promise<Session>
  /** Reads a session; undefined for unknown and deleted ones. */
  read(key: SessionKey): Promise<Session | undefined>
  /** Returns those of the ids whose sessions exist and are not deleted. Uses one read for any number of ids. */
  living(tenant: string, sessions: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Returns the labels of these sessions, except sessions that do not exist or are deleted. Uses one read for any number of
   * sessions.
   */
  readLabels(tenant: string, sessions: readonly string[]): Promise<ReadonlyMap<string, SessionLabel>>
  /**
   * The ids of all sessions that match these conditions, in any order. Undefined if more than `MAX_COMPARED_SESSIONS` may match,
   * or if more than that number would have to be compared. The result may contain sessions that no longer match or were deleted.
   */
  findIds(conditions: SessionConditions): Promise<readonly string[] | undefined>
  /**
   * Lists sessions, sorted by the time that `sort` names. Sessions with equal times have a fixed order. If `sort` is
   * `last_message_at`, sessions without messages always come last, and `since` and `until` exclude them.
   *
   * The cost of a page does not grow with the number of sessions. If the filter is one of the conditions `owner`, `agent`,
   * `runStatus`, `folder` and `source` (the last two exact), a page is full. Such a page costs no more than a page without a
   * filter. For all other conditions, a store compares at most `MAX_COMPARED_SESSIONS` sessions per page. Such a page may be
   * short or empty although more sessions follow; `next` is set in this case.
   *
   * A session that moves between two pages may appear twice. A session that moves to a position before the cursor is found
   * only when the list is read again from its start. During a run, a store may sort the session by its last message before
   * the run. `next` has at most 40 characters. Rejects with `cursor_not_found` for an unknown cursor or one of another list.
   */
  list(filter: SessionFilter): Promise<{ sessions: readonly Session[]; next?: string }>
  /**
   * Changes a session. The source of a title becomes `given`. If the title is null, it is removed, and the opening of
   * the first input becomes the title again. Rejects with `session_not_found`. Fenced: never changes a deleted session.
   */
  update(key: SessionKey, change: SessionChange): Promise<Session>
  /**
   * Stores the description of a session. Does not count as activity. Safe to repeat. Rejects with `session_not_found`.
   */
  describe(key: SessionKey, about: SessionAbout): Promise<void>
  /**
   * Counts the usage, and stores the title if it may replace the existing one. Does not count as activity. For a deleted session,
   * only counts the usage.
   */
  recordTitle(key: SessionKey, made: TitleByModel): Promise<void>
  /**
   * Returns the summary that was requested under this idempotency key. Rejects with `idempotency_conflict` if the key was used
   * for another request.
   */
  summaryUnder(key: SessionKey, idempotency: Idempotency): Promise<Summary | undefined>
  /**
   * Stores a requested summary and counts its usage. The summary is stored only if no run is active, and the session's
   * previous summary still ends at `made.from`. In addition, the session must not have changed, and no run may have
   * been accepted, since `seen`. Otherwise, only counts the usage and returns false. The usage is also counted if the
   * call rejects with `session_not_found`.
   */
  recordSummary(seen: SessionHeader, made: SummaryByHand): Promise<boolean>
  /** Sets `ownerBound` permanently, without counting as activity. Rejects with `session_not_found`. */
  bindToOwner(key: SessionKey): Promise<void>
}
