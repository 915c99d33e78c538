import { MAX_MORE, type HistoryHit, type HistoryPage } from '../../../../domain/history.ts'
import type { PlannedTerm } from '../../../../search/query/plan.ts'
import type { ScoredEvent } from '../../../../search/ranking/score.ts'
import { mapInBatches } from '../../../../search/ranking/score-in-batches.ts'
import { snippet } from '../../../../search/documents/snippet.ts'
import { matchedTerms } from '../../../../search/understood.ts'
import { snapshot } from '../../database.ts'
import { best, type Search } from './best.ts'
import { collect, type Collected } from './collect.ts'
import { writePlace, type HistoryPlace } from './cursor.ts'
import { stageListing, strictestListing, wordlessListing, type Listing } from './listing.ts'
import { matchMessages, type FoundDocument } from './rows.ts'
import { boundsOf, withinSession } from './scope.ts'
import { walkByRow, type WalkPlace } from './walk.ts'
import { walkByTime } from './walk-by-time.ts'

type Event = ScoredEvent<FoundDocument>

/** Returns the page that begins at the search's position. */
export async function findPage(search: Search): Promise<HistoryPage> {
  const { sort = 'relevance' } = search.query
  if (sort === 'relevance' && search.parsed.terms.length > 0) return rankedPage(search)
  const listing = sort === 'relevance' ? wordlessListing(search) : strictestListing(search)
  if (listing === undefined) return { hits: [] }
  const walk = sort === 'relevance' ? walkByRow(search) : walkByTime(search, sort)
  const { limit } = search.query
  const collected = await collect(search, {
    listing,
    walk,
    from: walkPlace(search),
    limit,
    taken: new Set(),
    sessions: [],
  })
  return pageOf(search, listing, collected)
}

/** Returns a page of the best events, ordered by score. The other matches follow them, newest first. */
async function rankedPage(search: Search): Promise<HistoryPage> {
  const { query, place } = search
  const { terms, scored, stage } = await best(search)
  const listing = stageListing(search, terms, stage)
  const heads = query.group === undefined ? scored : firstOfSessions(scored)
  const start = place.isRanked ? rankAfter(heads, place) : heads.length
  const shown = heads.slice(start, start + query.limit)
  const last = shown.at(-1)
  const end = start + shown.length
  if (last !== undefined && end < heads.length)
    return pageOf(
      search,
      listing,
      { events: shown, next: undefined },
      { scored, place: { ...place, shown: end, passed: last.best.id } },
    )
  const { events, next } = await collect(search, {
    listing,
    walk: walkByRow(search),
    from: place.isRanked ? undefined : walkPlace(search),
    limit: query.limit - shown.length,
    taken: new Set(scored.map((event) => event.best.event)),
    sessions: heads.map((event) => event.best.hit.session),
  })
  return pageOf(search, listing, { events: [...shown, ...events], next }, { scored })
}

/**
 * Returns the index at which the page begins: after the hit that was returned last. If that hit was deleted, the page
 * begins after as many hits as were returned.
 */
function rankAfter(heads: readonly Event[], { shown, passed }: HistoryPlace): number {
  const last = heads.findIndex((event) => event.best.id === passed)
  return last === -1 ? Math.min(shown, heads.length) : last + 1
}

function firstOfSessions(scored: readonly Event[]): Event[] {
  const sessions = new Set<string>()
  return scored.filter(({ best: { hit } }) => !sessions.has(hit.session) && sessions.add(hit.session))
}

const walkPlace = ({ place: { passed, time } }: Search): WalkPlace | undefined =>
  passed === 0 ? undefined : { passed, time }

interface Ranks {
  /** The best events of all pages. */
  readonly scored: readonly Event[]
  /** Position among the best events where the next page continues. */
  readonly place?: HistoryPlace
}

async function pageOf(
  search: Search,
  listing: Listing,
  { events, next }: Collected,
  { scored, place }: Ranks = { scored: [] },
): Promise<HistoryPage> {
  const { query, database } = search
  const hits = await mapInBatches(query.scope.tenant, events, (event) => ({
    ...hitOf(event, listing.terms),
    ...(query.group === undefined ? {} : { more: moreOf(search, listing, scored, event) }),
  }))
  const { passed = 0, time = 0 } = next?.after ?? {}
  const following = place ?? (next && { ...search.place, isRanked: false, shown: 0, passed, time })
  return following === undefined ? { hits } : { hits, next: writePlace(database, query, relativeTo(search, following)) }
}

/** Converts a position for a cursor. Its document numbers become relative to the tenant's first document. */
function relativeTo({ audience }: Search, { bound, passed, ...place }: HistoryPlace): HistoryPlace {
  const { first } = audience.range
  return { ...place, bound: bound - first, passed: passed === 0 ? 0 : passed - first }
}

/** Returns the number of other hits in this event's session, on all pages together. */
function moreOf(search: Search, listing: Listing, scored: readonly Event[], { best: { event, hit } }: Event): number {
  const { scope, filters } = search.query
  const expression = listing.expression(withinSession(boundsOf(scope, filters), scope.tenant, hit.session))
  const ranked = scored.filter((one) => one.best.hit.session === hit.session).map((one) => one.best.event)
  const limit = MAX_MORE + ranked.length + 1
  const others = snapshot(search.database, () =>
    matchMessages(search.database, search.audience.range, expression, { filters, limit }),
  )
  return Math.min(MAX_MORE, new Set([event, ...ranked, ...others]).size - 1)
}

function hitOf(event: Event, terms: readonly PlannedTerm[]): HistoryHit {
  const { best: document, score } = event
  return {
    ...document.hit,
    score: Math.round(score * 10_000) / 10_000,
    snippet: snippet(document.text, terms),
    matched: matchedTerms(terms, event),
  }
}
