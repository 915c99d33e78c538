import type { HistoryHit, HistoryPage, HistoryQuery, HistoryRole } from '../../../domain/history.ts'
import { planTerms, type PlannedTerm, type Vocabulary } from '../../../search/plan.ts'
import type { SearchQuery } from '../../../search/query.ts'
import { scoreEvents, type ScoredEvent } from '../../../search/score.ts'
import { snippet } from '../../../search/snippet.ts'
import { readable } from '../../../search/term-matches.ts'
import { readOne, type Database } from '../database.ts'
import { writeCursor, type HistoryCursor } from './cursor.ts'
import {
  crowdExpressions,
  MIN_ANY,
  type Matching,
  matchExpression,
  partExpression,
  rareParts,
  STAGES,
  tokensExpression,
} from './match.ts'
import { firstDocument, loadDocuments, matchAll, matchRows, matchWithin, type FoundDocument } from './rows.ts'
import { roleToken, scopeExpression, tenantToken } from './scope.ts'

const HISTORY_ROLES: readonly HistoryRole[] = ['user', 'assistant', 'tool_call', 'tool_result']

/** One search, on one state of the database. */
export interface Search {
  readonly database: Database
  readonly query: HistoryQuery
  readonly parsed: SearchQuery
  readonly vocabulary: Vocabulary
}

/** So many matching documents that they are not all looked at: those with the words near each other come first. */
const CROWD = 150
/** Of each way to be near. */
const NEARER = 40
/** Documents that are read and scored. */
const SCORED = 100
/** Where no event has this much of the query, words are stretched to what they may be a piece or a slip of. */
const COVERED = 0.75
/** With fewer documents than this, the next wider way of matching is tried too. */
const ENOUGH = 40
/** Documents that are looked through for one page, at most, beyond the best. */
const MAX_SCANNED = 2_000

interface Found {
  readonly rows: readonly number[]
  readonly stage: number
}

/** The best events, and where to go on. */
export function firstPage(search: Search): HistoryPage {
  const newest = readOne<{ id: number | null }>(search.database, 'SELECT max(id) AS id FROM historyDocuments')?.id ?? 0
  const start = { head: [], shown: 0, below: newest + 1, stage: 0, stretched: false }
  if (search.parsed.terms.length === 0) return unrankedPage(search, start)
  const { terms, scored, stage, stretched } = best(search, isAlone(search)) ?? bestWithin(search)
  return pageOf(search, terms, { ...start, head: scored.map((event) => event.best.event), stage, stretched }, scored)
}

/** The page that the cursor stands before. */
export function laterPage(search: Search, cursor: HistoryCursor): HistoryPage {
  if (search.parsed.terms.length === 0) return unrankedPage(search, cursor)
  const terms = planTerms(search.parsed, search.vocabulary, cursor.stretched)
  const events = cursor.head.slice(cursor.shown, cursor.shown + search.query.limit)
  const rows = matchWithin(search.database, widest(matchingOf(search, terms)), events)
  const scored = scoreEvents(search.parsed, terms, visible(search, loadDocuments(search.database, rows)))
  const places = new Map(events.map((event, place) => [event, place]))
  const place = ({ best: { event } }: ScoredEvent<FoundDocument>): number => places.get(event) ?? 0
  return pageOf(
    search,
    terms,
    cursor,
    scored.toSorted((left, right) => place(left) - place(right)),
  )
}

/** `scored`: the next events of the head, in its order. */
function pageOf(
  search: Search,
  terms: readonly PlannedTerm[],
  cursor: HistoryCursor,
  scored: readonly ScoredEvent<FoundDocument>[],
): HistoryPage {
  const { limit } = search.query
  const shown = Math.min(cursor.head.length, cursor.shown + limit)
  const hits = scored.slice(0, limit).map((event) => hitOf(event, terms))
  if (shown < cursor.head.length) return { hits, next: writeCursor(search.query, { ...cursor, shown }) }
  return tailPage(search, terms, { ...cursor, shown }, hits)
}

/** What else matches, newest first. */
function tailPage(
  search: Search,
  terms: readonly PlannedTerm[],
  cursor: HistoryCursor,
  hits: readonly HistoryHit[],
): HistoryPage {
  const expression = stageExpression(matchingOf(search, terms), cursor.stage)
  const left = search.query.limit - hits.length
  const found = scan(search, expression, cursor, left, (documents) => scoreEvents(search.parsed, terms, documents)[0])
  const page = [...hits, ...found.events.map((event) => hitOf(event, terms))]
  return found.below === undefined
    ? { hits: page }
    : { hits: page, next: writeCursor(search.query, { ...cursor, below: found.below }) }
}

/** Without words: what holds the symbols, or everything, newest first. */
function unrankedPage(search: Search, cursor: HistoryCursor): HistoryPage {
  const { query, parsed } = search
  if (parsed.literal !== '' && parsed.symbols.length === 0) return { hits: [] }
  const pieces = parsed.literal === '' ? [] : parsed.literal.split(' ')
  const found = scan(search, tokensExpression(query, parsed.symbols), cursor, query.limit, (documents) => {
    const best = documents.find(({ text }) => pieces.every((piece) => readable(text).lowered.includes(piece)))
    return best && { best, score: 1, covered: 1 }
  })
  const hits = found.events.map((event) => hitOf(event, []))
  return found.below === undefined ? { hits } : { hits, next: writeCursor(query, { ...cursor, below: found.below }) }
}

/**
 * Goes through the matching documents, newest first, event by event (an event's documents stand together, for they are written
 * together), and keeps what `judge` makes a hit of. `below`: where to go on; undefined at the end.
 */
function scan(
  search: Search,
  expression: string,
  cursor: HistoryCursor,
  limit: number,
  judge: (documents: readonly FoundDocument[]) => ScoredEvent<FoundDocument> | undefined,
): { events: ScoredEvent<FoundDocument>[]; below: number | undefined } {
  const { database, query } = search
  const shown = new Set(cursor.head)
  const events: ScoredEvent<FoundDocument>[] = []
  let { below } = cursor
  for (let looked = 0; looked < MAX_SCANNED; looked += CROWD) {
    const rows = matchRows(database, expression, query.filters, { below, limit: CROWD })
    for (const [event, documents] of Map.groupBy(
      visible(search, loadDocuments(database, rows)),
      (document) => document.event,
    )) {
      if (events.length === limit) return { events, below }
      const judged = shown.has(event) ? undefined : judge(documents)
      shown.add(event)
      below = firstDocument(database, event)
      if (judged !== undefined) events.push(judged)
    }
    if (rows.length < CROWD) return { events, below: undefined }
    below = Math.min(below, rows.at(-1) ?? below)
  }
  return { events, below }
}

interface Best {
  readonly terms: readonly PlannedTerm[]
  readonly scored: readonly ScoredEvent<FoundDocument>[]
  readonly stage: number
  readonly stretched: boolean
}

/** The best events; undefined when documents of other tenants were among what matched without the tenant's token. */
function best(search: Search, alone: boolean): Best | undefined {
  const terms = planTerms(search.parsed, search.vocabulary, false)
  const first = bestOf(search, matchingOf(search, terms, alone), false)
  if (first === undefined) return undefined
  const covered = first.scored.reduce((most, event) => Math.max(most, event.covered), 0)
  if (covered >= COVERED) return first
  const wider = planTerms(search.parsed, search.vocabulary, true)
  if (!isWider(wider, terms)) return first
  const second = bestOf(search, matchingOf(search, wider, alone), true)
  if (second === undefined) return undefined
  return second.scored.some((event) => event.covered > covered) ? second : first
}

function bestWithin(search: Search): Best {
  const found = best(search, false)
  if (found === undefined) throw new Error('a match within a tenant found documents of another')
  return found
}

const matchingOf = ({ query }: Search, terms: readonly PlannedTerm[], alone = false): Matching => ({
  query,
  terms,
  scope: scopeExpression(query.scope, query.filters, alone),
})

/** Whether all documents are the tenant's, by the latest counts. */
function isAlone({ query, vocabulary }: Search): boolean {
  const all = HISTORY_ROLES.reduce((sum, role) => sum + vocabulary.frequency(roleToken(role)), 0)
  return vocabulary.frequency(tenantToken(query.scope.tenant)) === all
}

/** Whether words stand for more than before. */
const isWider = (wider: readonly PlannedTerm[], terms: readonly PlannedTerm[]): boolean =>
  wider.some((term, index) => term.alternatives.flat(2).length > (terms[index]?.alternatives.flat(2).length ?? 0))

function bestOf(search: Search, matching: Matching, stretched: boolean): Best | undefined {
  const found = candidates(search, matching)
  const loaded = loadDocuments(search.database, found.rows.slice(0, SCORED))
  if (loaded.some(({ tenant }) => tenant !== search.query.scope.tenant)) return undefined
  const scored = scoreEvents(search.parsed, matching.terms, visible(search, loaded))
  return { terms: matching.terms, scored, stage: found.stage, stretched }
}

/** Documents from the strictest way of matching that gives enough, after those of the stricter ones. */
function candidates({ database, query }: Search, matching: Matching): Found {
  const rows = new Set<number>()
  let used = 0
  for (const [stage, name] of STAGES.entries()) {
    const expression = matchExpression(matching, name)
    if (expression === undefined) continue
    used = stage
    const newest = (match: string, limit: number): number[] => matchRows(database, match, query.filters, { limit })
    const matched =
      name === 'any' ? bestOfAny(database, matching, rows.size === 0 ? MIN_ANY : 0) : newest(expression, CROWD)
    const nearer = name === 'any' || matched.length < CROWD ? [] : crowdExpressions(matching)
    for (const id of [...nearer.flatMap((match) => newest(match, NEARER)), ...matched]) rows.add(id)
    if (rows.size >= ENOUGH) break
  }
  return { rows: [...rows], stage: used }
}

/** The documents that have most of the rare terms, newer first among equals. */
function bestOfAny(database: Database, matching: Matching, least: number): number[] {
  const worth = new Map<number, number>()
  for (const part of rareParts(matching.terms, least))
    for (const id of matchAll(database, partExpression(matching, part)))
      worth.set(id, (worth.get(id) ?? 0) + part.importance)
  const ordered = Array.from(worth).toSorted((left, right) => right[1] - left[1] || right[0] - left[0])
  return ordered.slice(0, CROWD).map(([id]) => id)
}

function stageExpression(matching: Matching, stage: number): string {
  const expressions = STAGES.slice(0, stage + 1).map((name) => matchExpression(matching, name))
  return expressions.findLast((expression) => expression !== undefined) ?? widest(matching)
}

const widest = (matching: Matching): string =>
  matchExpression(matching, 'any') ?? matchExpression(matching, 'all') ?? ''

/** A scope's tokens are hashes, and times are matched to the hour: the documents themselves decide. */
function visible({ query }: Search, documents: readonly FoundDocument[]): FoundDocument[] {
  const { scope, filters } = query
  return documents.filter(
    ({ tenant, hit, time }) =>
      tenant === scope.tenant &&
      (scope.session ?? hit.session) === hit.session &&
      (scope.owner ?? hit.owner) === hit.owner &&
      time >= (filters.since ?? time) &&
      time <= (filters.until ?? time),
  )
}

function hitOf({ best: document, score }: ScoredEvent<FoundDocument>, terms: readonly PlannedTerm[]): HistoryHit {
  return { ...document.hit, score: Math.round(score * 10_000) / 10_000, snippet: snippet(document.text, terms) }
}
