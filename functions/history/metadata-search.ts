import { definedFields } from '../domain/defined-fields.ts'
import type { HistoryHit, HistoryPage, HistoryQuery } from '../domain/history.ts'
import type { SessionLabel } from '../domain/session.ts'
import type { HistoryIndex } from '../ports/history-index.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { createSessionMatch } from '../search/session-match.ts'

/** Maximum number of hits per page whose sessions are compared with the filter. */
const MAX_COMPARED_HITS = 1_000
/** Number of hits per request to the index if their sessions are compared with the filter. */
const HITS_PAGE = 50

interface Dependencies {
  readonly index: Pick<HistoryIndex, 'search'>
  readonly sessions: Pick<SessionStore, 'findIds' | 'readLabels'>
}

/**
 * Searches one page of the index with a metadata filter. The index has no metadata. So the matching sessions are looked
 * up first, and the index searches only these.
 * If too many sessions match, hits of all sessions are searched, and the metadata of their sessions are compared. The
 * number of compared hits per page is limited. A page may then be short or empty although more hits follow. Its `next`
 * is set in this case, and no hit is skipped.
 * A session may change after its hits were found, so callers compare the hits with the labels that they show.
 */
export async function searchWithMetadata(dependencies: Dependencies, query: HistoryQuery): Promise<HistoryPage> {
  const { index } = dependencies
  const { scope, filters } = query
  if (filters.metadata === undefined) return index.search(query)
  const sessions = await sessionsFor(dependencies, query)
  if (sessions !== undefined) return index.search({ ...query, filters: { ...filters, sessions } })
  return searchComparing(dependencies, query, createLabelMatch(dependencies, scope.tenant, filters))
}

async function sessionsFor(
  { sessions }: Dependencies,
  { scope, filters }: HistoryQuery,
): Promise<readonly string[] | undefined> {
  const named = scope.session ?? filters.session
  if (named !== undefined) return [named]
  const { metadata = [] } = filters
  return sessions.findIds({ tenant: scope.tenant, metadata, ...definedFields({ owner: scope.owner ?? filters.owner }) })
}

/** Whether a session matches the metadata filters. */
export function fitsMetadata({ metadata = [] }: HistoryQuery['filters'], label: SessionLabel): boolean {
  return createSessionMatch({ metadata })({ agent: '', ...label }, undefined)
}

type KeepFitting = (hits: readonly HistoryHit[]) => Promise<readonly HistoryHit[]>

/** Creates a filter for hits that reads the label of each session once. */
function createLabelMatch({ sessions }: Dependencies, tenant: string, filters: HistoryQuery['filters']): KeepFitting {
  const known = new Map<string, boolean>()
  return async (hits) => {
    const unknown = [...new Set(hits.map(({ session }) => session))].filter((session) => !known.has(session))
    const labels = unknown.length === 0 ? new Map<string, SessionLabel>() : await sessions.readLabels(tenant, unknown)
    for (const session of unknown) {
      const label = labels.get(session)
      known.set(session, label !== undefined && fitsMetadata(filters, label))
    }
    return hits.filter(({ session }) => known.get(session))
  }
}

async function searchComparing(
  { index }: Dependencies,
  query: HistoryQuery,
  keepFitting: KeepFitting,
): Promise<HistoryPage> {
  const found: HistoryHit[] = []
  let { after } = query
  let incomplete: true | undefined
  for (let compared = 0; compared < MAX_COMPARED_HITS;) {
    const missing = query.limit - found.length
    const asked = { ...query, ...definedFields({ after }) }
    let page = await index.search({ ...asked, limit: HITS_PAGE })
    // The index may return few or no hits although more follow. So each page counts as `HITS_PAGE` hits.
    compared += HITS_PAGE
    let fitting = await keepFitting(page.hits)
    // If the index's page has more matching hits than are missing, the search is repeated for a shorter page. Only the index
    // can create the cursor of that page.
    while (fitting.length > missing) {
      const last = fitting[missing - 1]
      page = await index.search({ ...asked, limit: last === undefined ? 1 : page.hits.indexOf(last) + 1 })
      fitting = await keepFitting(page.hits)
    }
    found.push(...fitting)
    incomplete ??= page.incomplete
    after = page.next
    if (after === undefined || found.length === query.limit) break
  }
  return { hits: found, ...definedFields({ next: after, incomplete }) }
}
