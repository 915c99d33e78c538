import { definedFields } from '../domain/defined-fields.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { HistoryPage, HistoryQuery } from '../domain/history.ts'
import { readCursor, writeCursor } from './cursor.ts'

type SearchOnce = (query: HistoryQuery) => Promise<HistoryPage>

interface Index {
  readonly search: SearchOnce
  /** Whether the tenant may have superseded entries. */
  readonly hasSuperseded: (tenant: string) => Promise<boolean>
}

/**
 * Searches so that superseded hits follow all other hits, over all pages. Does not reorder a list by time, or a search
 * that filters by `superseded`. Searches once if the tenant has no superseded entries.
 */
export async function searchSupersededLast(query: HistoryQuery, index: Index): Promise<HistoryPage> {
  const { search } = index
  if (query.filters.superseded !== undefined || (query.sort ?? 'relevance') !== 'relevance') return search(query)
  const current = { ...query, filters: { ...query.filters, superseded: false } }
  const superseded = { ...query, filters: { ...query.filters, superseded: true } }
  const { after, ...start } = superseded
  if (after !== undefined && isStart(superseded, after)) return withoutShown(query, await search(start), search)
  const first = await unlessForeign(() => search(current))
  if (first === undefined) return withoutShown(query, await search(superseded), search)
  if (first.next !== undefined || !(await index.hasSuperseded(query.scope.tenant))) return first
  const left = query.limit - first.hits.length
  const second = await search({ ...start, limit: Math.max(1, left) })
  if (left === 0) return second.hits.length === 0 ? first : { ...first, next: startOf(superseded) }
  const rest = await withoutShown(query, second, search)
  const incomplete = first.incomplete ?? rest.incomplete
  return { ...first, hits: [...first.hits, ...rest.hits], ...definedFields({ next: rest.next, incomplete }) }
}

/** Returns the cursor of the first page of superseded hits. */
const startOf = (query: HistoryQuery): string => writeCursor(query, [[1, 1]])

function isStart(query: HistoryQuery, after: string): boolean {
  try {
    return readCursor(query, after, [1])[0] === 1n
  } catch (error) {
    if (isForeign(error)) return false
    throw error
  }
}

/** Runs a search. Returns undefined if its cursor belongs to the list of superseded hits. */
async function unlessForeign(search: () => Promise<HistoryPage>): Promise<HistoryPage | undefined> {
  try {
    return await search()
  } catch (error) {
    if (isForeign(error)) return undefined
    throw error
  }
}

const isForeign = (error: unknown): boolean => error instanceof TooltrailError && error.code === 'cursor_not_found'

/**
 * If hits are grouped by session, removes each session with a hit that is not superseded, because the session
 * was listed before.
 */
async function withoutShown(query: HistoryQuery, page: HistoryPage, search: SearchOnce): Promise<HistoryPage> {
  if (query.group === undefined || page.hits.length === 0) return page
  const { after: _, ...start } = query
  const filters = { ...query.filters, sessions: page.hits.map(({ session }) => session), superseded: false }
  const shown = new Set<string>()
  let after: string | undefined
  do {
    const found = await search({ ...start, filters, limit: page.hits.length, ...definedFields({ after }) })
    for (const { session } of found.hits) shown.add(session)
    after = found.next
  } while (after !== undefined)
  return { ...page, hits: page.hits.filter(({ session }) => !shown.has(session)) }
}
