import type { HistoryQuery } from '../../../../domain/history.ts'
import type { Database } from '../../database.ts'
import { findAudience, type Audience } from '../vocabulary/audiences.ts'
import type { Search } from './best.ts'
import { readPlace, roundedCount, type HistoryPlace } from './cursor.ts'
import { matchRows } from './rows.ts'
import { boundsOf, within } from './scope.ts'

/**
 * Returns the position where the page of this query begins, and the audience, limited to documents that existed when
 * the first page was read. Returns undefined if the scope has no documents. Throws `cursor_not_found` for a cursor that
 * no page of this query returned. Call it inside a snapshot.
 */
export function openSearch(database: Database, query: HistoryQuery): Pick<Search, 'audience' | 'place'> | undefined {
  const relative = query.after === undefined ? undefined : readPlace(database, query, query.after)
  const audience = findAudience(database, query.scope)
  if (audience === undefined) return undefined
  const { first } = audience.range
  const place =
    relative === undefined
      ? firstPlace(database, query, audience)
      : { ...relative, bound: first + relative.bound, passed: relative.passed === 0 ? 0 : first + relative.passed }
  if (place === undefined) return undefined
  const { bound, documents } = place
  const range = { first, last: bound }
  return { place, audience: { ...audience, range, documents, version: `${audience.version} ${bound}` } }
}

function firstPlace(database: Database, query: HistoryQuery, audience: Audience): HistoryPlace | undefined {
  const all = within(undefined, query.scope.tenant, boundsOf(query.scope, {}))
  const [bound] = matchRows(database, audience.range, all, { filters: {}, limit: 1 })
  const documents = roundedCount(audience.documents)
  return bound === undefined ? undefined : { bound, documents, isRanked: true, shown: 0, passed: 0, time: 0 }
}
