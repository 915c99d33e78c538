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
  /** Identifies the document together with the message id: `u`, `a`, `c` (call), `r0`, `r1`, … (chunks of a result). */
  readonly part: string
  readonly role: HistoryRole
  readonly agent: string
  readonly toolName?: string
  readonly toolCallId?: string
  readonly status?: ToolStatus
  /** Of an assistant's text: its loop had searched the history before. Of a delegate call: the one that gave it or worked on it. */
  readonly searched?: true
  /** Of a user's text: it is the task of a team's member. */
  readonly task?: true
  /** Of an assistant's text: what people think of it, each once. */
  readonly feedback?: readonly Rating[]
  /** Compact call text, on both halves of a tool event. */
  readonly call?: string
  /** What is searched and shown: the text, the call, or a chunk of the result. Secrets redacted. */
  readonly text: string
  /** Milliseconds since 1970; a result's is when it completed. */
  readonly time: number
}

/** Whose history may be seen. Enforced in the query, never taken from a model. */
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
  /** Messages that somebody has given this rating. */
  readonly feedback?: Rating
  /** Milliseconds since 1970, inclusive. */
  readonly since?: number
  readonly until?: number
  /** Only sessions with these fields. An index does not know them: it gets `sessions`, or its hits are compared. */
  readonly metadata?: readonly MetadataFilter[]
  /** Leaves out one run: the one that searches. */
  readonly notRun?: string
  /** Only these sessions, at most 1,000. They are no part of a cursor: they may change between pages. */
  readonly sessions?: readonly string[]
}

/** Filters as callers write them: their moments are dates, or times, in UTC where they name no zone. */
export type WrittenFilters = {
  readonly [Name in Exclude<keyof HistoryFilters, 'since' | 'until' | 'sessions'>]?: HistoryFilters[Name] | undefined
} & { readonly since?: string | undefined; readonly until?: string | undefined }

/** What they mean: a date is its whole day (UTC). */
export function filtersOf({ since, until, ...others }: WrittenFilters): HistoryFilters {
  return { ...definedFields(others), ...boundsOf({ since, until }) }
}

/** The bounds that two moments mean, inclusive, in milliseconds since 1970: a date is its whole day (UTC). */
export function boundsOf({ since, until }: Pick<WrittenFilters, 'since' | 'until'>): {
  readonly since?: number
  readonly until?: number
} {
  return definedFields({
    since: since === undefined ? undefined : timeAt(since),
    until: until === undefined ? undefined : timeAt(until) + (until.includes('T') ? 0 : DAY_MS - 1),
  })
}

/** Milliseconds since 1970. JavaScript takes a time without a zone for this machine's. */
const timeAt = (moment: string): number => Date.parse(/T[\d:.]+$/.test(moment) ? `${moment}Z` : moment)

const DAY_MS = 86_400_000

/** What a search takes beside its text and filters: the order of its hits, and whether they are grouped. */
export type HistoryListing = Pick<HistoryQuery, 'sort' | 'group'>

/** The order of hits. `newest` and `oldest` go by the time of the hit. */
export type HistorySort = 'relevance' | 'newest' | 'oldest'

export interface HistoryQuery {
  readonly scope: HistoryScope
  /** Any string; nothing in it is syntax. */
  readonly text: string
  readonly filters: HistoryFilters
  readonly limit: number
  /** Where the previous page ended: its `next`. */
  readonly after?: string
  /** Default: `relevance`. */
  readonly sort?: HistorySort
  /** At most one hit a session: the first in the order of the hits. */
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
  /** In groups: further hits in this session, up to `MAX_MORE`. */
  readonly more?: number
}

/** Further hits of a group that are counted; this number stands for more, too. */
export const MAX_MORE = 100

export interface HistoryPage {
  readonly hits: readonly HistoryHit[]
  readonly next?: string
  /** Something written before the search is not indexed yet: indexing took longer than a search may wait. */
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
  /** At most 300 characters; ends in `...` if it was cut. */
  readonly text: string
}

/** A page as users see it. */
export interface HistoryEntries extends Omit<HistoryPage, 'hits'> {
  readonly entries: readonly HistoryEntry[]
}

/** A hit as users see it: with the entries just before and after it in its session. */
export interface HistoryEntry extends HistoryHit {
  /** The hit without marks: whole if it is short, else the part in the snippet. At most 300 characters. */
  readonly text: string
  /** Of a result: its sources that have numbers. */
  readonly sources?: readonly { readonly number: number; readonly title: string }[]
  readonly before?: HistoryNeighbour
  readonly after?: HistoryNeighbour
  readonly sessionTitle?: string
  /** Where the session's work was done: `folder` of its metadata. */
  readonly folder?: string
}
