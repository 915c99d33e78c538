import type { HistoryFilters, HistoryHit, HistoryRole } from '../../../../domain/history.ts'
import type { ToolStatus } from '../../../../domain/messages/message.ts'
import type { Candidate } from '../../../../search/ranking/rows.ts'
import { readAll, readOne, type Database } from '../../database.ts'
import type { IdRange } from '../vocabulary/audiences.ts'

/** A found document, with the fields of its message. */
export interface FoundDocument extends Candidate {
  readonly id: number
  readonly event: number
  readonly hit: Omit<HistoryHit, 'score' | 'snippet' | 'matched'>
}

interface Row {
  readonly id: number
  readonly event: number
  readonly role: HistoryRole
  readonly time: number
  readonly text: string
  readonly session: string
  readonly message: string
  readonly owner: string | null
  readonly run: string
  readonly agent: string
  readonly tool: string | null
  readonly toolCall: string | null
  readonly status: ToolStatus | null
  readonly call: string | null
  readonly searched: number | null
  readonly task: number | null
}

/**
 * Returns matching documents of the range, newest first. FTS5's own ranking is not used, because it reads every posting
 * of every word.
 */
export function matchRows(
  database: Database,
  { first, last }: IdRange,
  expression: string,
  { filters, limit }: { readonly filters: HistoryFilters; readonly limit: number },
): number[] {
  const unfiltered = filters.since === undefined && filters.until === undefined
  const rows = unfiltered
    ? readAll<{ id: number }>(
        database,
        `SELECT rowid AS id FROM historyWords WHERE historyWords MATCH ? AND rowid BETWEEN ? AND ?
         ORDER BY rowid DESC LIMIT ?`,
        expression,
        first,
        last,
        limit,
      )
    : readAll<{ id: number }>(
        database,
        `SELECT historyWords.rowid AS id FROM historyWords CROSS JOIN historyDocuments d ON d.id = historyWords.rowid
         WHERE historyWords MATCH ? AND historyWords.rowid BETWEEN ? AND ? AND d.time BETWEEN ? AND ?
         ORDER BY historyWords.rowid DESC LIMIT ?`,
        expression,
        first,
        last,
        ...timeRange(filters),
        limit,
      )
  return rows.map(({ id }) => id)
}

/** Returns the first document of an event; undefined if the tables have none. */
export function firstDocument(database: Database, event: number): number | undefined {
  const sql = 'SELECT min(id) AS id FROM historyDocuments WHERE message = ?'
  return readOne<{ id: number | null }>(database, sql, event)?.id ?? undefined
}

/**
 * Returns the ids of all matching documents of the range. They are read as one value, because reading them as rows
 * would cost more than the search.
 */
export function matchAll(database: Database, { first, last }: IdRange, expression: string): number[] {
  const row = readOne<{ ids: string }>(
    database,
    'SELECT json_group_array(rowid) AS ids FROM historyWords WHERE historyWords MATCH ? AND rowid BETWEEN ? AND ?',
    expression,
    first,
    last,
  )
  return JSON.parse(row?.ids ?? '[]') as number[]
}

/** Returns distinct messages with a matching document in the range, at most `limit` of them. */
export function matchMessages(
  database: Database,
  { first, last }: IdRange,
  expression: string,
  { filters, limit }: { readonly filters: HistoryFilters; readonly limit: number },
): number[] {
  const rows = readAll<{ message: number }>(
    database,
    `SELECT DISTINCT d.message FROM historyWords CROSS JOIN historyDocuments d ON d.id = historyWords.rowid
     WHERE historyWords MATCH ? AND historyWords.rowid BETWEEN ? AND ? AND d.time BETWEEN ? AND ? LIMIT ?`,
    expression,
    first,
    last,
    ...timeRange(filters),
    limit,
  )
  return rows.map(({ message }) => message)
}

/** Returns which of these runs of the tenant have searched the history. */
export function searchedRuns(database: Database, tenant: number, runIds: readonly string[]): Set<string> {
  const rows = readAll<{ run: string }>(
    database,
    `SELECT DISTINCT run FROM historyMessages
     WHERE run IN (SELECT value FROM json_each(?)) AND tenant = ? AND searched IS NOT NULL`,
    JSON.stringify(runIds),
    tenant,
  )
  return new Set(rows.map(({ run }) => run))
}

/** Returns the documents with these ids, in order, without deleted ones. */
export function loadDocuments(database: Database, ids: readonly number[]): FoundDocument[] {
  const loaded = readAll<Row>(
    database,
    `SELECT d.id, d.message AS event, d.role, d.time, d.text, m.session, m.message, m.owner, m.run, m.agent,
            m.tool, m.toolCall, m.status, m.call, m.searched, m.task
     FROM historyDocuments d JOIN historyMessages m ON m.id = d.message
     WHERE d.id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  )
  const byId = new Map(loaded.map((row) => [row.id, row]))
  return ids.flatMap((id) => {
    const row = byId.get(id)
    return row === undefined ? [] : [found(row)]
  })
}

function found(row: Row): FoundDocument {
  const { id, event, role, time, text } = row
  return {
    id,
    event,
    role,
    time,
    text,
    runId: row.run,
    toolName: row.tool ?? undefined,
    call: row.call ?? undefined,
    searched: row.searched !== null,
    task: row.task !== null,
    hit: {
      session: row.session,
      ...(row.owner === null ? {} : { owner: row.owner }),
      runId: row.run,
      messageId: row.message,
      role,
      agent: row.agent,
      ...(row.tool === null ? {} : { toolName: row.tool }),
      ...(row.toolCall === null ? {} : { toolCallId: row.toolCall }),
      ...(row.status === null ? {} : { status: row.status }),
      time,
    },
  }
}

export const timeRange = ({ since, until }: HistoryFilters): [number, number] => [
  Math.max(since ?? 0, Number.MIN_SAFE_INTEGER),
  Math.min(until ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
]
