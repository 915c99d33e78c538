import type { HistoryHit, HistoryPage, HistoryQuery } from '../../domain/history.ts'
import type { PlannedTerm } from '../../search/query/plan.ts'
import type { SearchQuery } from '../../search/query/query.ts'
import { isMostlyTalk, RANKED, scoreEvents, type Candidate, type ScoredEvent } from '../../search/ranking/score.ts'
import { inTurns } from '../../search/ranking/score-in-batches.ts'
import { snippet } from '../../search/documents/snippet.ts'
import { readable } from '../../search/query/term-matches.ts'
import { planFound } from './found-vocabulary.ts'
import { writeCursor, type HistoryCursor } from './history-cursor.ts'
import { hitFields, type Source } from './indexed-document.ts'
import {
  bestBody,
  countBody,
  countsOf,
  runsBody,
  symbolsBody,
  tailBody,
  type Counts,
  type Found,
  type Matching,
  type SearchResponse,
  type Stage,
} from './search-bodies.ts'
import { termGroups, type Inside, type TermGroup } from './term-groups.ts'

/** One search. */
export interface Search {
  readonly query: HistoryQuery
  readonly parsed: SearchQuery
  readonly send: (body: object) => Promise<SearchResponse>
}

/** With fewer documents that hold all terms than this, those that hold some of them are pages too. */
const ENOUGH = 40
/** Documents that are scored where most of the best only talk about the history: what happened stands behind them. */
const BEHIND_TALK = 500
/** Documents that are looked through for symbols, at once and at most, for one page. */
const LOOKED_AT = 200
const MAX_LOOKED_AT = 2_000
/** A shorter piece stands inside of too many words. */
const LEAST_PIECE = 3
/** Where no event has this much of the query, words are stretched to what they may be a piece or a slip of. */
const COVERED = 0.75
/** Words of so many documents at most are then looked for inside of others; so many words at most. */
const STRETCHED = { documents: 2_000, words: 8 }
/** Sorts after everything that begins as an event does. */
const AND_AFTER = '~'

interface FoundDocument extends Candidate {
  readonly id: string
  readonly event: string
  readonly source: Source
}

/** The best events, and where to go on. */
export async function firstPage(search: Search): Promise<HistoryPage> {
  const start: HistoryCursor = { head: [], shown: 0, below: undefined, stage: 0 }
  if (search.parsed.terms.length === 0) return unrankedPage(search, start)
  const { matching, response, terms, scored, stage } = await best(search)
  const newest = response.aggregations?.newest?.hits.hits[0]?._source.event
  const cursor: HistoryCursor = {
    head: scored.map((event) => event.best.source.print),
    shown: 0,
    below: `${newest ?? ''}${AND_AFTER}`,
    stage,
  }
  return pageOf(search, { matching, terms }, cursor, scored)
}

interface Best extends Plan {
  readonly response: SearchResponse
  readonly scored: readonly ScoredEvent<FoundDocument>[]
  readonly stage: Stage
}

/** The best events as the words are; where these have little of the query, as the words may be meant, if that is better. */
async function best(search: Search): Promise<Best> {
  const { query } = search
  const groups = termGroups(search.parsed)
  const counts = await countFor(search, groups)
  const matching: Matching = { query, groups, counts, inside: unknownWords(groups, counts) }
  const asIs = await search.send(bestBody(matching))
  const usual = await bestOf(search, matching, asIs, false)
  const all = asIs.aggregations?.all?.doc_count ?? 0
  const stage = all >= ENOUGH ? 0 : matching.inside.size > 0 ? 2 : 1
  const first = { matching, stage, ...usual } as const
  if (coveredBy(first.scored) >= COVERED) return first
  const wider = { ...matching, inside: rareWords(groups, counts) }
  const found = wider.inside.size > matching.inside.size ? await search.send(bestBody(wider)) : asIs
  const second = { matching: wider, stage: 3, ...(await bestOf(search, wider, found, true)) } as const
  return coveredBy(second.scored) > coveredBy(first.scored) ? second : first
}

/** `response`: to the usual request. Looks further where most of its events only talk about the history. */
async function bestOf(
  search: Search,
  matching: Matching,
  response: SearchResponse,
  stretch: boolean,
): Promise<Pick<Best, 'response' | 'terms' | 'scored'>> {
  const usual = await scoredBy(search, matching.counts, response, stretch)
  if (!isMostlyTalk(usual.scored)) return { response, ...usual }
  const further = await search.send(bestBody(matching, { size: BEHIND_TALK }))
  const { terms, scored } = await scoredBy(search, matching.counts, further, stretch)
  return { response: further, terms, scored: scored.slice(0, RANKED) }
}

const countFor = async ({ query, send }: Search, groups: readonly TermGroup[]): Promise<Counts> =>
  countsOf(groups, await send(countBody(query, groups)))

async function scoredBy(
  search: Search,
  counts: Counts,
  { hits }: SearchResponse,
  stretch: boolean,
): Promise<Pick<Best, 'terms' | 'scored'>> {
  const { parsed, query } = search
  const terms = await planFound(parsed, { tenant: query.scope.tenant, counts, documents: hits.hits }, stretch)
  return { terms, scored: await eventsOf(search, terms, hits.hits.map(document)) }
}

/** These documents' events, in the order of their scores. */
function eventsOf(
  { parsed, query, send }: Search,
  terms: readonly PlannedTerm[],
  documents: readonly FoundDocument[],
): Promise<ScoredEvent<FoundDocument>[]> {
  const { tenant } = query.scope
  return scoreEvents(tenant, parsed, terms, documents, async (runIds) => {
    const { hits } = (await send(runsBody(tenant, runIds))).hits
    return new Set(hits.flatMap(({ _source: { run, searched } }) => (searched === true ? [run] : [])))
  })
}

const coveredBy = (scored: readonly ScoredEvent<FoundDocument>[]): number =>
  scored.reduce((most, event) => Math.max(most, event.covered), 0)

/** The page that the cursor stands before. */
export async function laterPage(search: Search, cursor: HistoryCursor): Promise<HistoryPage> {
  if (search.parsed.terms.length === 0) return unrankedPage(search, cursor)
  const groups = termGroups(search.parsed)
  const events = cursor.head.slice(cursor.shown, cursor.shown + search.query.limit)
  const counts = await countFor(search, groups)
  const inside = cursor.stage === 3 ? rareWords(groups, counts) : unknownWords(groups, counts)
  const matching: Matching = { query: search.query, groups, counts, inside: cursor.stage >= 2 ? inside : new Set() }
  const response = await search.send(bestBody(matching, { within: events }))
  const { terms, scored } = await scoredBy(search, counts, response, cursor.stage === 3)
  const places = new Map(events.map((print, place) => [print, place]))
  const place = (event: ScoredEvent<FoundDocument>): number => places.get(event.best.source.print) ?? 0
  return pageOf(
    search,
    { matching, terms },
    cursor,
    scored.toSorted((left, right) => place(left) - place(right)),
  )
}

interface Plan {
  readonly matching: Matching
  readonly terms: readonly PlannedTerm[]
}

/** `scored`: the next events of the head, in its order. */
async function pageOf(
  search: Search,
  plan: Plan,
  cursor: HistoryCursor,
  scored: readonly ScoredEvent<FoundDocument>[],
): Promise<HistoryPage> {
  const { limit } = search.query
  const shown = Math.min(cursor.head.length, cursor.shown + limit)
  const hits = await inTurns(search.query.scope.tenant, scored.slice(0, limit), (event) => hitOf(event, plan.terms))
  if (shown < cursor.head.length) return { hits, next: writeCursor(search.query, { ...cursor, shown }) }
  return tailPage(search, plan, { ...cursor, shown }, hits)
}

/** What else matches, newest first. */
async function tailPage(
  search: Search,
  { matching, terms }: Plan,
  cursor: HistoryCursor,
  hits: readonly HistoryHit[],
): Promise<HistoryPage> {
  const left = search.query.limit - hits.length
  const { head: without, below = AND_AFTER } = cursor
  const response = await search.send(tailBody(matching, cursor.stage, { below, without, limit: left + 1 }))
  const documents = response.hits.hits.slice(0, left).map(document)
  const found = await eventsOf(search, terms, documents)
  const scored = found.toSorted((one, other) => (one.best.event < other.best.event ? 1 : -1))
  const page = [...hits, ...(await inTurns(search.query.scope.tenant, scored, (event) => hitOf(event, terms)))]
  if (response.hits.hits.length <= left) return { hits: page }
  return { hits: page, next: writeCursor(search.query, { ...cursor, below: documents.at(-1)?.event ?? below }) }
}

/** Without words: what holds the symbols, or everything, newest first. */
async function unrankedPage(search: Search, cursor: HistoryCursor): Promise<HistoryPage> {
  const { query, parsed } = search
  const pieces = parsed.literal === '' ? [] : parsed.literal.split(' ')
  const hits: HistoryHit[] = []
  let { below } = cursor
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += LOOKED_AT) {
    const response = await search.send(symbolsBody(query, parsed, below, LOOKED_AT))
    for (const found of response.hits.hits.map(document)) {
      if (hits.length === query.limit) return { hits, next: writeCursor(query, { ...cursor, below }) }
      below = found.event
      const { lowered } = readable(found.text)
      if (pieces.every((piece) => lowered.includes(piece))) hits.push(hitOf({ best: found, score: 1 }, []))
    }
    if (response.hits.hits.length < LOOKED_AT) return { hits }
  }
  return { hits, next: writeCursor(query, { ...cursor, below }) }
}

/** Words that no document within the scope holds, as they are or inflected: they may stand inside of others. */
const unknownWords = (groups: readonly TermGroup[], counts: Counts): Inside => new Set(wordsOfAtMost(0, groups, counts))

/** Those, and words that not too many documents hold: what is asked for may be another word that has them inside. */
const rareWords = (groups: readonly TermGroup[], counts: Counts): Inside =>
  new Set([
    ...unknownWords(groups, counts),
    ...wordsOfAtMost(STRETCHED.documents, groups, counts).slice(0, STRETCHED.words),
  ])

function wordsOfAtMost(most: number, groups: readonly TermGroup[], { tokens }: Counts): string[] {
  return groups
    .flatMap((group) => group.words)
    .filter(
      ({ word, forms }) =>
        word.length >= LEAST_PIECE && [word, ...forms].every((form) => (tokens.get(form) ?? 0) <= most),
    )
    .map(({ word }) => word)
}

function document({ _id, _source }: Found): FoundDocument {
  const { event, role, run, tool, call, text, time, searched = false, task = false } = _source
  return { id: _id, event, role, runId: run, toolName: tool, call, text, time, searched, task, source: _source }
}

function hitOf(
  { best, score }: Pick<ScoredEvent<FoundDocument>, 'best' | 'score'>,
  terms: readonly PlannedTerm[],
): HistoryHit {
  return { ...hitFields(best.source), score: Math.round(score * 10_000) / 10_000, snippet: snippet(best.text, terms) }
}
