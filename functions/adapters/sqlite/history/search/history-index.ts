import { TooltrailError } from '../../../../domain/errors.ts'
import { parseQuery } from '../../../../search/query/query.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { HistoryScope } from '../../../../domain/history.ts'
import type { HistoryIndex } from '../../../../ports/history-index.ts'
import { readOne, snapshot, type Database } from '../../database.ts'
import { openSearch } from './open-search.ts'
import { findPage } from './pages.ts'
import { matchRows } from './rows.ts'
import { SUPERSEDED_ENTRIES } from './scope.ts'
import { needsReindex } from '../documents/reindex.ts'
import type { HistoryProjection } from '../documents/projection.ts'
import { findAudience } from '../vocabulary/audiences.ts'
import { createVocabulary } from '../vocabulary/vocabulary.ts'

interface Dependencies {
  readonly database: Database
  readonly history: Pick<HistoryProjection, 'merge'>
  readonly clock: Pick<Clock, 'sleep'>
}

/**
 * Maximum time that a search waits until its tenant's latest writes are indexed. After that, the search runs without
 * these writes and reports this.
 */
const WAIT_MS = 5_000

/**
 * Creates a search of the full-text tables in the log's own database. A search finds everything that was acknowledged
 * before it starts, with two exceptions. It may miss entries if indexing takes longer than a search may wait. It may
 * also miss entries while a new version of the tokenizer is still being applied.
 */
export function createSqliteHistoryIndex({ database, history, clock }: Dependencies): HistoryIndex {
  const vocabulary = createVocabulary(database)
  async function mergedInTime(tenant: string): Promise<boolean> {
    const over = new AbortController()
    try {
      const late = clock.sleep(WAIT_MS, over.signal).then(() => false)
      return await Promise.race([history.merge(tenant).then(() => true), late])
    } finally {
      over.abort()
    }
  }
  return {
    search(query) {
      return available(async () => {
        const parsed = parseQuery(query.text, query.filters.role, query.asked)
        const merged = await mergedInTime(query.scope.tenant)
        const opened = snapshot(database, () => openSearch(database, query))
        const search = opened && { database, query, parsed, ...opened, vocabulary: vocabulary.of(opened.audience) }
        const page = search === undefined ? { hits: [] } : await findPage(search)
        return merged && !needsReindex(database) ? page : { ...page, incomplete: true }
      })
    },
    locate(scope, messageId) {
      return available(async () => {
        const known = sessionOf(database, scope, messageId)
        if (known !== undefined) return known
        // The message may exist without being indexed yet. Only a complete index can show that a message does not exist.
        if (!(await mergedInTime(scope.tenant))) throw new Error(`the index is ${WAIT_MS} ms and more behind the log`)
        return sessionOf(database, scope, messageId)
      })
    },
    hasSuperseded(tenant) {
      return available(async () => snapshot(database, () => hasSuperseded(database, tenant)))
    },
  }
}

function hasSuperseded(database: Database, tenant: string): boolean {
  const audience = findAudience(database, { tenant })
  if (audience === undefined) return false
  return matchRows(database, audience.range, SUPERSEDED_ENTRIES, { filters: {}, limit: 1 }).length > 0
}

/**
 * Returns the session of an indexed message. A message never moves to another session or owner, so even outdated index
 * entries name the right ones.
 */
const sessionOf = (database: Database, scope: HistoryScope, messageId: string): string | undefined =>
  readOne<{ session: string }>(
    database,
    `SELECT session FROM historyMessages
     WHERE message = ? AND tenant = (SELECT id FROM historyTenants WHERE tenant = ?)
       AND owner IS coalesce(?, owner) AND session = coalesce(?, session)`,
    messageId,
    scope.tenant,
    scope.owner ?? null,
    scope.session ?? null,
  )?.session

async function available<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'cursor_not_found') throw error
    throw new TooltrailError('search_unavailable', 'the history index cannot be read now: try again later', {
      retryable: true,
      cause: error,
    })
  }
}
