import { readAll, readOne } from '../../../functions/adapters/sqlite/database.ts'
import type { Database } from '../../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryMerger } from '../../../functions/adapters/sqlite/history/documents/merger.ts'
import { createSqliteHistoryProjection } from '../../../functions/adapters/sqlite/history/documents/projection.ts'
import type { HistoryProjection } from '../../../functions/adapters/sqlite/history/documents/projection.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import { Violation } from '../../../test/contracts/schedules/harness.ts'
import type { SimulatedIndex } from './simulated-index.ts'
import type { MemoryOutputs } from '../world/outputs.ts'
import { current } from '../world/timeline.ts'
import type { Process } from '../world/timeline.ts'

/**
 * The index that SQLite stores next to the log. Documents are written to it when a process is idle, and before every
 * search.
 */
export interface StoredIndex extends SimulatedIndex {
  /**
   * Returns the projection with which a process writes documents to the index, on the connection of its log. If
   * `process` is undefined, the caller is outside the simulation, and documents are written only before searches.
   */
  projectionOf(process: Process | undefined, connection: Database): HistoryProjection
}

export function createStoredIndex(database: Database, outputs: MemoryOutputs): StoredIndex {
  // Errors are ignored here. A document that cannot be indexed remains marked as not indexed. The final check then
  // reports the document as missing.
  const report = (): void => undefined
  const projectionOn = (connection: Database): HistoryProjection => {
    const merger = createHistoryMerger({ database: connection, outputs, report })
    return createSqliteHistoryProjection({ database: connection, merger, report })
  }
  // Documents are merged in two ways. A merge within a request takes no virtual time, because a request is one step.
  // When a process is idle, its merges take virtual time.
  const ofRequests = projectionOn(database)
  const neverLate = { sleep: () => new Promise<void>(() => undefined) }
  return {
    searched: createSqliteHistoryIndex({ database, history: ofRequests, clock: neverLate }),
    projectionOf(process, connection) {
      if (process === undefined) return { ...ofRequests, written: () => undefined }
      const idle = projectionOn(connection)
      const own = connection === database ? ofRequests : projectionOn(connection)
      return { ...own, written: () => current.run(process, idle.written) }
    },
    observe(call, session) {
      if (call === 'deletion.markRemoved' && namesOf(database, session) > 0)
        throw new Violation('nothing of a deleted session is found', session)
    },
    isCaughtUp: () => true,
    async documents(key) {
      await ofRequests.merge()
      return documentsIn(database, key)
    },
    fault: () => faultIn(database),
  }
}

/** Counts the index rows that name a deleted session. Returns 0 for a live session. */
function namesOf(database: Database, session: string): number {
  const sql = `SELECT (SELECT count(*) FROM historyMessages WHERE session = ?1)
    + (SELECT count(*) FROM historyAudiences WHERE kind = 'session' AND name = ?1) AS count
    FROM sessions WHERE session = ?1 AND live = 0`
  return readOne<{ count: number }>(database, sql, session)?.count ?? 0
}

function documentsIn(database: Database, { tenant, session }: SessionKey): HistoryDocument[] {
  const sql = `SELECT h.message AS messageId, d.part, h.run AS runId, h.agent, d.role, d.time, d.text, h.tool AS toolName,
    h.toolCall AS toolCallId, h.status, h.call FROM historyMessages h JOIN historyTenants t ON t.id = h.tenant
    JOIN historyDocuments d ON d.message = h.id WHERE t.tenant = ? AND h.session = ?`
  return readAll<HistoryDocument>(database, sql, tenant, session)
}

/** Queries for rows that contradict each other, such as wrong counts. */
const FAULTS: readonly (readonly [fault: string, sql: string])[] = [
  ['a message is marked', 'SELECT 1 FROM historyMarks'],
  ['a document has no words', 'SELECT 1 FROM historyDocuments WHERE id NOT IN (SELECT rowid FROM historyWords)'],
  ['words have no document', 'SELECT 1 FROM historyWords WHERE rowid NOT IN (SELECT id FROM historyDocuments)'],
  [
    'a tenant has another number of documents',
    `SELECT 1 FROM historyTenants t WHERE documents != (SELECT count(*) FROM historyDocuments d
     JOIN historyMessages h ON h.id = d.message WHERE h.tenant = t.id)`,
  ],
  [
    'a session has another number of documents',
    `SELECT 1 FROM historyAudiences a WHERE kind = 'session' AND documents != (SELECT count(*) FROM historyDocuments d
     JOIN historyMessages h ON h.id = d.message WHERE h.tenant = a.tenant AND h.session = a.name)`,
  ],
  [
    'words of a session that is gone',
    'SELECT 1 FROM historySessionWords WHERE session NOT IN (SELECT id FROM historyAudiences)',
  ],
  [
    'words of an owner who is gone',
    'SELECT 1 FROM historyOwnerWords WHERE owner NOT IN (SELECT id FROM historyAudiences)',
  ],
  [
    'a word is used by nobody',
    `SELECT 1 FROM historyVocabulary v WHERE (v.tenant, v.word) NOT IN (SELECT a.tenant, w.value FROM historySessionWords s
     JOIN historyAudiences a ON a.id = s.session, json_each('["' || replace(s.words, ' ', '","') || '"]') w)`,
  ],
]

function faultIn(database: Database): string | undefined {
  return FAULTS.find(([, sql]) => readOne(database, `${sql} LIMIT 1`) !== undefined)?.[0]
}
