import type { RunStatus } from './runs/run.ts'

/** The time by which a list of sessions is sorted. */
export type SessionSort = (typeof SESSION_SORTS)[number]
export const SESSION_SORTS = ['last_message_at', 'updated_at', 'created_at'] as const

/**
 * A condition on a metadata field: its text equals this value, or begins with it. Numbers and booleans are compared as
 * JSON.
 */
export interface MetadataFilter {
  readonly key: string
  readonly value: string
  readonly isPrefix: boolean
}

/** Converts a value in a query to a filter. A value that ends in `*` is a prefix. */
export function metadataFilter(key: string, text: string): MetadataFilter {
  const isPrefix = text.endsWith('*')
  return { key, value: isPrefix ? text.slice(0, -1) : text, isPrefix }
}

/** Selects the sessions that a list shows, and their order. A session must satisfy every condition. */
export interface SessionFilter {
  readonly tenant: string
  readonly owner?: string
  readonly agent?: string
  readonly runStatus?: RunStatus
  readonly metadata?: readonly MetadataFilter[]
  /** All words of this text must occur in the title or the first input; prefixes of words match as well. */
  readonly q?: string
  /** Default: `last_message_at`. */
  readonly sort?: SessionSort
  /** Default: `desc`. */
  readonly order?: 'asc' | 'desc'
  /** Bounds of the sorted time, inclusive, in milliseconds since 1970. */
  readonly since?: number
  readonly until?: number
  readonly limit: number
  /** The `next` of the previous page. */
  readonly after?: string
}

/** Conditions by which a search of the history selects sessions. */
export type SessionConditions = Pick<SessionFilter, 'tenant' | 'owner' | 'metadata'>

/**
 * Metadata fields for which a store has an index. A filter on one exact value of such a field costs the same for any
 * number of sessions.
 */
export const INDEXED_METADATA = ['folder', 'source'] as const
export type IndexedMetadata = (typeof INDEXED_METADATA)[number]

/**
 * Limit of the sessions that a store compares with the filter for one page. If a page reaches the limit, it may be
 * short, and has a cursor to continue.
 */
export const MAX_COMPARED_SESSIONS = 1_000
