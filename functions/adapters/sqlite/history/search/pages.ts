import type { HistoryHit, HistoryPage } from '../../../../domain/history.ts'
import { planTerms, type PlannedTerm } from '../../../../search/query/plan.ts'
import type { ScoredEvent } from '../../../../search/ranking/score.ts'
import { inTurns, searchTurn } from '../../../../search/ranking/score-in-batches.ts'
import { snippet } from '../../../../search/documents/snippet.ts'
import { readable } from '../../../../search/query/term-matches.ts'
import { reading, snapshot, type Database } from '../../database.ts'
import type { IdRange } from '../vocabulary/audiences.ts'
import { best, matchingOf, scoredBy, visible, type Search } from './best.ts'
import { writeCursor, type Anchor, type HistoryCursor } from './cursor.ts'
import { matchExpression, type Matching, STAGES } from './match.ts'
import { firstDocument, loadDocuments, matchRows, matchWithin, placeOf, type FoundDocument } from './rows.ts'
import { boundsOf, quote, within } from './scope.ts'

/** Documents that are looked through at a time for the tail of a search. */
const AT_ONCE = 150
/** Documents that are looked through for one page, at most, beyond the best. */
const MAX_SCANNED = 2_000
/** Messages that name a place in a cursor: one that has not moved is enough. */
const ANCHORS = 3
/** Documents in which the newest messages are looked for. */
const NEWEST = 12

/** The first page, or the one that the cursor stands before. */
export const findPage = (search: Search, cursor: HistoryCursor | undefined): Promise<HistoryPage> =>
  cursor === undefined ? firstPage(search) : laterPage(search, cursor)

/** The best events, and where to go on. */
async function firstPage(search: Search): Promise<HistoryPage> {
  const newest = snapshot(search.database, () => newestAnchors(search))
  const start = { head: [], shown: 0, newest, passed: [], passedId: '', stage: 0, stretched: false }
  if (search.parsed.terms.length === 0) return unrankedPage(search, start)
  const { terms, scored, stage, stretched } = await best(search)
  return pageOf(search, terms, { ...start, head: scored.map((event) => event.best.print), stage, stretched }, scored)
}

async function laterPage(search: Search, cursor: HistoryCursor): Promise<HistoryPage> {
  if (search.parsed.terms.length === 0) return unrankedPage(search, cursor)
  const { database, audience, parsed, query } = search
  const prints = cursor.head.slice(cursor.shown, cursor.shown + query.limit)
  const { terms, loaded } = snapshot(database, () => {
    const planned = planTerms(parsed, search.vocabulary, cursor.stretched)
    const rows = matchWithin(database, audience.range, widest(matchingOf(search, planned)), prints)
    return { terms: planned, loaded: loadDocuments(database, rows) }
  })
  const scored = await scoredBy(search, terms, visible(search, loaded))
  const places = new Map(prints.map((print, place) => [print, place]))
  const place = ({ best: { print } }: ScoredEvent<FoundDocument>): number => places.get(print) ?? 0
  return pageOf(
    search,
    terms,
    cursor,
    scored.toSorted((left, right) => place(left) - place(right)),
  )
}

/** `scored`: the next events of the head, in its order. */
async function pageOf(
  search: Search,
  terms: readonly PlannedTerm[],
  cursor: HistoryCursor,
  scored: readonly ScoredEvent<FoundDocument>[],
): Promise<HistoryPage> {
  const { limit } = search.query
  const shown = Math.min(cursor.head.length, cursor.shown + limit)
  const hits = await inTurns(search.query.scope.tenant, scored.slice(0, limit), (event) => hitOf(event, terms))
  if (shown < cursor.head.length) return { hits, next: writeCursor(search.query, { ...cursor, shown }) }
  return tailPage(search, terms, { ...cursor, shown }, hits)
}

/** What else matches, newest first. */
async function tailPage(
  search: Search,
  terms: readonly PlannedTerm[],
  cursor: HistoryCursor,
  hits: readonly HistoryHit[],
): Promise<HistoryPage> {
  const expression = stageExpression(matchingOf(search, terms), cursor.stage)
  const left = search.query.limit - hits.length
  const judge: Judge = async (documents) => (await scoredBy(search, terms, documents))[0]
  const found = await scan(search, expression, cursor, { limit: left, judge })
  const page = [...hits, ...(await inTurns(search.query.scope.tenant, found.events, (event) => hitOf(event, terms)))]
  return found.next === undefined ? { hits: page } : { hits: page, next: writeCursor(search.query, found.next) }
}

/** Without words: what holds the symbols, or everything, newest first. */
async function unrankedPage(search: Search, cursor: HistoryCursor): Promise<HistoryPage> {
  const { query, parsed } = search
  if (parsed.literal !== '' && parsed.symbols.length === 0) return { hits: [] }
  const pieces = parsed.literal === '' ? [] : parsed.literal.split(' ')
  const tokens = parsed.symbols.length === 0 ? undefined : parsed.symbols.map(quote).join(' AND ')
  const expression = within(tokens, query.scope.tenant, boundsOf(query.scope, query.filters))
  const judge: Judge = async (documents) => {
    await searchTurn(query.scope.tenant)
    const best = documents.find(({ text }) => pieces.every((piece) => readable(text).lowered.includes(piece)))
    return best && { best, score: 1, covered: 1 }
  }
  const found = await scan(search, expression, cursor, { limit: query.limit, judge })
  const hits = found.events.map((event) => hitOf(event, []))
  return found.next === undefined ? { hits } : { hits, next: writeCursor(query, found.next) }
}

type Judge = (documents: readonly FoundDocument[]) => Promise<ScoredEvent<FoundDocument> | undefined>

/**
 * Goes through the matching documents, newest first, event by event (an event's documents are contiguous, because they are
 * written together), and keeps what `judge` makes a hit of. `next`: where to go on; undefined at the end.
 */
async function scan(
  search: Search,
  expression: string,
  cursor: HistoryCursor,
  { limit, judge }: { readonly limit: number; readonly judge: Judge },
): Promise<{ events: ScoredEvent<FoundDocument>[]; next: HistoryCursor | undefined }> {
  const { database, query } = search
  const shown = new Set(cursor.head)
  const events: ScoredEvent<FoundDocument>[] = []
  const passed: FoundDocument[] = []
  const { range: start, older } = snapshot(database, () => placeIn(search, cursor))
  let range = start
  const next = (): HistoryCursor => passOver(cursor, passed)
  for (let looked = 0; looked < MAX_SCANNED; looked += AT_ONCE) {
    const { rows, loaded } = snapshot(database, () => {
      const matched = matchRows(database, range, expression, { filters: query.filters, limit: AT_ONCE })
      return { rows: matched, loaded: loadDocuments(database, matched) }
    })
    for (const documents of Map.groupBy(visible(search, loaded), ({ event }) => event).values()) {
      const [document] = documents
      if (document === undefined || document.hit.messageId >= older) continue
      if (events.length === limit) return { events, next: next() }
      const judged = shown.has(document.print) ? undefined : await judge(documents)
      shown.add(document.print)
      passed.push(document)
      range = { ...range, last: beginningOf(database, documents) - 1 }
      if (judged !== undefined) events.push(judged)
    }
    if (rows.length < AT_ONCE) return { events, next: undefined }
    range = { ...range, last: Math.min(range.last, (rows.at(-1) ?? range.last) - 1) }
  }
  return { events, next: next() }
}

/** The first document of an event of which these were found, or the first of these where it is removed by now. */
function beginningOf(database: Database, documents: readonly FoundDocument[]): number {
  const first = reading(database, () => documents[0] && firstDocument(database, documents[0].event))
  return Math.min(first ?? Infinity, ...documents.map(({ id }) => id))
}

/** Where the scan goes on: within the range, and among messages with smaller ids if all of them have moved. */
function placeIn({ database, audience }: Search, cursor: HistoryCursor): { range: IdRange; older: string } {
  const { range } = audience
  const standing = (anchors: readonly Anchor[]): IdRange[] =>
    anchors.flatMap((anchor) => placeOf(database, range, anchor) ?? [])
  const newest = standing(cursor.newest).reduce((last, place) => Math.max(last, place.last), 0)
  const top = newest === 0 ? range : { ...range, last: newest }
  const passed = standing(cursor.passed)
  if (passed.length > 0)
    return { range: { ...top, last: Math.min(top.last, ...passed.map(({ first }) => first - 1)) }, older: LAST_ID }
  return { range: top, older: cursor.passedId === '' ? LAST_ID : cursor.passedId }
}

/** Sorts after every id of a message. */
const LAST_ID = '\u{10FFFF}'

/** The cursor after these documents, in the order in which they were passed: messages of several sessions name the place. */
function passOver(cursor: HistoryCursor, passed: readonly FoundDocument[]): HistoryCursor {
  const last = passed.at(-1)
  if (last === undefined) return cursor
  const latest = passed.toReversed()
  const sessions = [...Map.groupBy(latest, ({ hit }) => hit.session).values()].flatMap(
    (ofSession) => ofSession[0] ?? [],
  )
  const chosen = [...new Set([...sessions.slice(0, ANCHORS), ...latest])].slice(0, ANCHORS)
  return { ...cursor, passed: chosen.map(anchorOf), passedId: last.hit.messageId }
}

const anchorOf = ({ print, hit }: FoundDocument): Anchor => ({ print, status: hit.status ?? '' })

/** The newest messages that the scope may see. */
function newestAnchors({ database, query, audience }: Search): Anchor[] {
  const expression = within(undefined, query.scope.tenant, boundsOf(query.scope, {}))
  const rows = matchRows(database, audience.range, expression, { filters: {}, limit: NEWEST })
  const events = Map.groupBy(loadDocuments(database, rows), ({ event }) => event).values()
  return Array.from(events, (documents) => documents[0])
    .flatMap((document) => document ?? [])
    .slice(0, ANCHORS)
    .map(anchorOf)
}

function stageExpression(matching: Matching, stage: number): string {
  const expressions = STAGES.slice(0, stage + 1).map((name) => matchExpression(matching, name))
  return expressions.findLast((expression) => expression !== undefined) ?? widest(matching)
}

const widest = (matching: Matching): string =>
  matchExpression(matching, 'any') ?? matchExpression(matching, 'all') ?? ''

function hitOf({ best: document, score }: ScoredEvent<FoundDocument>, terms: readonly PlannedTerm[]): HistoryHit {
  return { ...document.hit, score: Math.round(score * 10_000) / 10_000, snippet: snippet(document.text, terms) }
}
