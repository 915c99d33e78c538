import { definedFields } from './defined-fields.ts'
import type { Rating } from './messages/feedback.ts'
import type { ToolStatus } from './messages/message.ts'
import type { MetadataFilter } from './session-filter.ts'

export type HistoryRole = 'user' | 'assistant' | 'tool_call' | 'tool_result'

/** One searchable entry, made from a message by `search/documents.ts`. */
export interface HistoryDocument {
  readonly tenant: string
  readonly session: string
  readonly owner?: string
  readonly runId: string
  readonly messageId: string
  /** Identifies the document within its message: `u`, `a`, `c` (call), `r0`, `r1`, … (chunks of a result). */
  readonly part: string
  readonly role: HistoryRole
  readonly agent: string
  readonly toolName?: string
  readonly toolCallId?: string
  readonly status?: ToolStatus
  /**
   * For an assistant's text: set if its thread has searched the history before. For a delegate call: set if its leader
   * or its member has searched the history.
   */
  readonly searched?: true
  /** Set if another run has superseded the message's run. */
  readonly superseded?: true
  /** For a user's text: set if it is the task of a team member. */
  readonly task?: true
  /** For an assistant's text: people's ratings, each value once. */
  readonly feedback?: readonly Rating[]
  /** The compact text of the call. Set in the document of the call and in the documents of its result. */
  readonly call?: string
  /** The text that is searched and shown: a message's text, a call, or a chunk of a result. Secrets are redacted. */
  readonly text: string
  /** Milliseconds since 1970. For a result, the time at which its call ended. */
  readonly time: number
}

/** The part of the history that may be seen. Enforced in the query, never taken from a model. */
export interface HistoryScope {
  readonly tenant: string
  readonly owner?: string
  readonly session?: string
}

export interface HistoryFilters {
  readonly role?: HistoryRole
  readonly tool?: string
  readonly status?: ToolStatus
  readonly session?: string
  readonly owner?: string
  readonly agent?: string
  /** Only messages with this rating. */
  readonly feedback?: Rating
  /** True: only messages whose run was superseded. False: only messages of other runs. */
  readonly superseded?: boolean
  /** Milliseconds since 1970, inclusive. */
  readonly since?: number
  readonly until?: number
  /**
   * Only sessions with these metadata fields. An index does not store metadata: the caller passes `sessions` instead,
   * or compares the sessions of the hits.
   */
  readonly metadata?: readonly MetadataFilter[]
  /** The run that makes the search. Its own messages are excluded. */
  readonly notRun?: string
  /** Only these sessions, at most 1,000. Cursors do not contain the list, because it may change between pages. */
  readonly sessions?: readonly string[]
}

/**
 * Filters as callers write them. `since` and `until` are dates or times. Both are in UTC unless they name a time zone.
 */
export type WrittenFilters = {
  readonly [Name in Exclude<keyof HistoryFilters, 'since' | 'until' | 'sessions'>]?: HistoryFilters[Name] | undefined
} & { readonly since?: string | undefined; readonly until?: string | undefined }

/** Converts written filters; a date means its whole day (UTC). */
export function filtersOf({ since, until, ...others }: WrittenFilters): HistoryFilters {
  return { ...definedFields(others), ...boundsOf({ since, until }) }
}

/** Converts two dates or times to bounds, inclusive, in milliseconds since 1970. A date means its whole day (UTC). */
export function boundsOf({ since, until }: Pick<WrittenFilters, 'since' | 'until'>): {
  readonly since?: number
  readonly until?: number
} {
  return definedFields({
    since: since === undefined ? undefined : timeAt(since),
    until: until === undefined ? undefined : timeAt(until) + (until.includes('T') ? 0 : DAY_MS - 1),
  })
}

/** Milliseconds since 1970. Without the added `Z`, JavaScript would use this machine's zone. */
export const timeAt = (moment: string): number => Date.parse(/T[\d:.]+$/.test(moment) ? `${moment}Z` : moment)

const DAY_MS = 86_400_000

/** The options of a search besides its text and filters. */
export type HistoryListing = Pick<HistoryQuery, 'sort' | 'group' | 'asked'>

/** The order of hits. `newest` and `oldest` sort by the time of the hit. */
export type HistorySort = 'relevance' | 'newest' | 'oldest'

/** When and where a question is asked. */
export interface AskedAt {
  /** Milliseconds since 1970. */
  readonly now: number
  /** IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string
}

export interface HistoryQuery {
  readonly scope: HistoryScope
  /** Any string; it has no syntax. */
  readonly text: string
  readonly filters: HistoryFilters
  readonly limit: number
  /** The caller's time and time zone, by which dates in the text are read. Without them, dates are ordinary words. */
  readonly asked?: AskedAt
  /** The `next` of the previous page. */
  readonly after?: string
  /** Default: `relevance`. */
  readonly sort?: HistorySort
  /** At most one hit per session: the first in the order of the hits. */
  readonly group?: 'session'
}

export interface HistoryHit {
  readonly session: string
  readonly owner?: string
  readonly runId: string
  readonly messageId: string
  readonly role: HistoryRole
  readonly agent: string
  readonly toolName?: string
  readonly toolCallId?: string
  readonly status?: ToolStatus
  readonly time: number
  readonly score: number
  /** At most 300 characters; matches are between « and ». */
  readonly snippet: string
  /** The terms of the query that the hit matches. Empty for a query without words. */
  readonly matched: readonly MatchedTerm[]
  /** Number of further hits in this session, at most `MAX_MORE`. Set if hits are grouped by session. */
  readonly more?: number
}

/** Where a term was found: in the entry, in a neighbouring entry, or in the name of the entry's tool. */
export const MATCH_PLACES = ['entry', 'neighbour', 'tool_name'] as const
export type MatchPlace = (typeof MATCH_PLACES)[number]

export interface MatchedTerm {
  readonly term: string
  readonly where: readonly MatchPlace[]
}

/** How a search read its query. */
export interface Understood {
  /** The time that the query names, in milliseconds since 1970, inclusive. Entries of this time rank higher. */
  readonly since?: number
  readonly until?: number
  /** The searched terms. Dates are omitted, and so are words that only make the text a question. */
  readonly terms: readonly string[]
}

/** Limit of `more`. If `more` equals this limit, the session may have further hits. */
export const MAX_MORE = 100

export interface HistoryPage {
  readonly hits: readonly HistoryHit[]
  readonly next?: string
  /** Set if an earlier message is not indexed yet, because indexing took longer than a search may wait. */
  readonly incomplete?: true
}

export type HistoryLabel = 'USER' | 'ASSISTANT' | 'TOOL CALL' | 'TOOL RESULT'
export const HISTORY_LABELS: { readonly [role in HistoryRole]: HistoryLabel } = {
  user: 'USER',
  assistant: 'ASSISTANT',
  tool_call: 'TOOL CALL',
  tool_result: 'TOOL RESULT',
}

export interface HistoryNeighbour {
  readonly label: HistoryLabel
  /** At most 300 characters; ends in `...` if it was truncated. */
  readonly text: string
}

/** A page of hits as users see it. */
export interface HistoryEntries extends Omit<HistoryPage, 'hits'> {
  readonly entries: readonly HistoryEntry[]
  readonly understood: Understood
}

/** A hit as users see it, with the entries directly before and after it in its session. */
export interface HistoryEntry extends HistoryHit {
  /**
   * The hit's text without the marks of matches. A long text is reduced to the part in the snippet. At most 300
   * characters.
   */
  readonly text: string
  /** For a call or a result: set if a client tool replaced the agent's tool of this name. */
  readonly origin?: 'client'
  /** For a result: its sources that have numbers. */
  readonly sources?: readonly { readonly number: number; readonly title: string }[]
  readonly before?: HistoryNeighbour
  readonly after?: HistoryNeighbour
  /** The first run that superseded the hit's run. */
  readonly supersededBy?: string
  readonly sessionTitle?: string
  /** The folder of the session's work: the field `folder` of its metadata. */
  readonly folder?: string
}
