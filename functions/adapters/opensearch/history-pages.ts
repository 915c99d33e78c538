import { definedFields } from '../../domain/defined-fields.ts'
import { timeOfId } from '../../domain/ids.ts'
import { MAX_MORE, type HistoryHit, type HistoryPage } from '../../domain/history.ts'
import type { PlannedTerm } from '../../search/query/plan.ts'
import type { ScoredEvent } from '../../search/ranking/score.ts'
import { mapInBatches } from '../../search/ranking/score-in-batches.ts'
import { snippet } from '../../search/documents/snippet.ts'
import { matchedTerms } from '../../search/understood.ts'
import { best, documentOf, rankDocuments, type FoundDocument, type Search } from './best.ts'
import { writePlace, type HistoryPlace } from './history-cursor.ts'
import { hitFields } from './indexed-document.ts'
import { eventsBody, type EventList } from './list-bodies.ts'
import { readList } from './listed.ts'
import { strictestListing, wordlessListing } from './listing.ts'
import { newestBody, type Found } from './search-bodies.ts'

type Event = ScoredEvent<FoundDocument>

type Asked = Omit<Search, 'bound'>

/** Returns the first page, or the page after the position. */
export async function findPage(asked: Asked, place: HistoryPlace | undefined): Promise<HistoryPage> {
  const bound = place?.bound ?? (await newestMoment(asked))
  if (bound === undefined) return { hits: [] }
  const search = { ...asked, bound }
  const { sort = 'relevance' } = asked.query
  const isRanked = sort === 'relevance' && asked.parsed.terms.length > 0
  return isRanked ? rankedPage(search, place) : listPage(search, place)
}

async function newestMoment({ send, query }: Asked): Promise<number | undefined> {
  const [newest] = (await send(newestBody(query))).hits.hits
  return newest && timeOfId(newest._source.message)
}

/** Returns a page of matches that are ordered without scores. */
async function listPage(search: Search, place: HistoryPlace | undefined): Promise<HistoryPage> {
  const { query, bound, parsed } = search
  const { sort = 'relevance', limit } = query
  if (parsed.terms.length === 0 && parsed.literal !== '' && parsed.symbols.length === 0) return { hits: [] }
  const listing = sort === 'relevance' ? wordlessListing(search) : await strictestListing(search)
  const unit = query.group ?? 'event'
  const list: EventList = { query, bound, must: listing.must, mustNot: [], sort, unit }
  const { documents, next } = await readList(search.send, list, { after: place?.list, limit, pieces: listing.pieces })
  const terms = await listing.terms(documents)
  const events = await inListOrder(search, terms, documents)
  return pageOf(search, { list, terms, scored: [] }, events, next && { bound, ...next })
}

/** Returns a page of the best events, ordered by score. The other matches follow them, newest first. */
async function rankedPage(search: Search, place: HistoryPlace | undefined): Promise<HistoryPage> {
  const { query, bound } = search
  const { terms, scored, way } = await best(search)
  const heads = query.group === undefined ? scored : firstOfSessions(scored)
  const start = place === undefined ? 0 : rankAfter(heads, place)
  const shown = heads.slice(start, start + query.limit)
  const end = start + shown.length
  const print = shown.at(-1)?.best.source.print
  const mustNot = termsOf(
    'print',
    scored.map(({ best: { source } }) => source.print),
  )
  const list: EventList = { query, bound, must: way, mustNot, sort: 'relevance', unit: query.group ?? 'event' }
  const ranks = { list, terms, scored }
  if (print !== undefined && end < heads.length)
    return pageOf(search, ranks, shown, { bound, ranked: { print, shown: end } })
  const sessions = query.group === undefined ? [] : heads.map(({ best: { source } }) => source.session)
  const { documents, next } = await readList(
    search.send,
    { ...list, mustNot: [...mustNot, ...termsOf('session', sessions)] },
    { after: place?.list, limit: query.limit - shown.length, pieces: [] },
  )
  const events = [...shown, ...(await inListOrder(search, terms, documents))]
  return pageOf(search, ranks, events, next && { bound, ...next })
}

const termsOf = (field: string, values: readonly string[]): object[] =>
  values.length === 0 ? [] : [{ terms: { [field]: values } }]

/**
 * Returns the index at which the page begins: after the hit that was returned last. If that hit was deleted, the page
 * begins after as many hits as were returned.
 */
function rankAfter(heads: readonly Event[], { ranked }: HistoryPlace): number {
  if (ranked === undefined) return heads.length
  const last = heads.findIndex(({ best: { source } }) => source.print === ranked.print)
  return last === -1 ? Math.min(ranked.shown, heads.length) : last + 1
}

function firstOfSessions(scored: readonly Event[]): Event[] {
  const sessions = new Set<string>()
  return scored.filter(({ best: { source } }) => !sessions.has(source.session) && sessions.add(source.session))
}

/** Returns one event per document, in the order of the documents. */
async function inListOrder(search: Search, terms: readonly PlannedTerm[], found: readonly Found[]): Promise<Event[]> {
  const documents = found.map(documentOf)
  if (terms.length === 0)
    return documents.map((document) => ({ best: document, score: 1, covered: 1, own: [], context: undefined }))
  const { events } = await rankDocuments(search, terms, documents)
  const byEvent = new Map(events.map((event) => [event.best.event, event]))
  return documents.flatMap(({ event }) => byEvent.get(event) ?? [])
}

interface Ranks {
  /** The listing of all matching events except the best ones. */
  readonly list: EventList
  readonly terms: readonly PlannedTerm[]
  /** The best events of all pages. */
  readonly scored: readonly Event[]
}

async function pageOf(
  search: Search,
  ranks: Ranks,
  events: readonly Event[],
  next: HistoryPlace | undefined,
): Promise<HistoryPage> {
  const { query } = search
  const more = query.group === undefined ? undefined : await moreIn(search, ranks, events)
  const hits = await mapInBatches(query.scope.tenant, events, (event) => ({
    ...hitOf(event, ranks.terms),
    ...definedFields({ more: more?.get(event.best.source.session) }),
  }))
  return next === undefined ? { hits } : { hits, next: writePlace(query, next) }
}

/** Returns the number of other hits in each of these events' sessions, on all pages together. */
async function moreIn(search: Search, { list, scored }: Ranks, events: readonly Event[]): Promise<Map<string, number>> {
  const sessions = events.map(({ best: { source } }) => source.session)
  if (sessions.length === 0) return new Map()
  const buckets = (await search.send(eventsBody(list, sessions))).aggregations?.sessions?.buckets ?? []
  return new Map(
    sessions.map((session, place) => {
      const ranked = scored.filter(({ best: { source } }) => source.session === session).length
      const listed = buckets[place]?.events.buckets.length ?? 0
      return [session, Math.min(MAX_MORE, ranked + listed - 1)]
    }),
  )
}

function hitOf(event: Event, terms: readonly PlannedTerm[]): HistoryHit {
  const { best: document, score } = event
  return {
    ...hitFields(document.source),
    score: Math.round(score * 10_000) / 10_000,
    snippet: snippet(document.text, terms),
    matched: matchedTerms(terms, event),
  }
}
