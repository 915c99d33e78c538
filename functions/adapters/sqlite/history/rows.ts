import type { HistoryFilters, HistoryHit, HistoryRole } from '../../../domain/history.ts'
import type { ToolStatus } from '../../../domain/message.ts'
import type { Candidate } from '../../../search/score.ts'
import { readAll, readOne, type Database } from '../database.ts'

/** A document as it was found, with what its message says of it. */
export interface FoundDocument extends Candidate {
  readonly id: number
  readonly event: number
  readonly tenant: string
  readonly hit: Omit<HistoryHit, 'score' | 'snippet'>
}

interface Row {
  readonly id: number
  readonly event: number
  readonly role: HistoryRole
  readonly time: number
  readonly text: string
  readonly tenant: string
  readonly session: string
  readonly message: string
  readonly owner: string | null
  readonly run: string
  readonly agent: string
  readonly tool: string | null
  readonly toolCall: string | null
  readonly status: ToolStatus | null
  readonly call: string | null
}

/** Documents that match, newest first. FTS5's own ranking reads every posting of every word: it is left out. */
export function matchRows(
  database: Database,
  expression: string,
  filters: HistoryFilters,
  { limit, below = Number.MAX_SAFE_INTEGER }: { readonly limit: number; readonly below?: number },
): number[] {
  const unfiltered = filters.since === undefined && filters.until === undefined
  const rows = unfiltered
    ? readAll<{ id: number }>(
        database,
        `SELECT rowid AS id FROM historyWords WHERE historyWords MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?`,
        expression,
        below,
        limit,
      )
    : readAll<{ id: number }>(
        database,
        `SELECT historyWords.rowid AS id FROM historyWords CROSS JOIN historyDocuments d ON d.id = historyWords.rowid
         WHERE historyWords MATCH ? AND historyWords.rowid < ? AND d.time BETWEEN ? AND ?
         ORDER BY historyWords.rowid DESC LIMIT ?`,
        expression,
        below,
        ...timeRange(filters),
        limit,
      )
  return rows.map(({ id }) => id)
}

/** The first document of an event. */
export function firstDocument(database: Database, event: number): number {
  return (
    readOne<{ id: number }>(database, 'SELECT min(id) AS id FROM historyDocuments WHERE message = ?', event)?.id ?? 0
  )
}

/** All documents that match, in one value: rows would cost more than the search. */
export function matchAll(database: Database, expression: string): number[] {
  const row = readOne<{ ids: string }>(
    database,
    'SELECT json_group_array(rowid) AS ids FROM historyWords WHERE historyWords MATCH ?',
    expression,
  )
  return JSON.parse(row?.ids ?? '[]') as number[]
}

/** Documents of these events that match. */
export function matchWithin(database: Database, expression: string, events: readonly number[]): number[] {
  const rows = readAll<{ id: number }>(
    database,
    `SELECT historyWords.rowid AS id FROM historyWords
     WHERE historyWords MATCH ? AND rowid IN
       (SELECT id FROM historyDocuments WHERE message IN (SELECT value FROM json_each(?)))
     LIMIT 400`,
    expression,
    JSON.stringify(events),
  )
  return rows.map(({ id }) => id)
}

/** The documents of these ids, in their order; without those that are gone. */
export function loadDocuments(database: Database, ids: readonly number[]): FoundDocument[] {
  const loaded = readAll<Row>(
    database,
    `SELECT d.id, d.message AS event, d.role, d.time, d.text, m.tenant, m.session, m.message, m.owner, m.run, m.agent,
            m.tool, m.toolCall, m.status, m.call
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
  const { id, event, role, time, text, tenant } = row
  return {
    id,
    event,
    role,
    time,
    text,
    tenant,
    toolName: row.tool ?? undefined,
    call: row.call ?? undefined,
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

const timeRange = ({ since, until }: HistoryFilters): [number, number] => [
  Math.max(since ?? 0, Number.MIN_SAFE_INTEGER),
  Math.min(until ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
]
