import { planTerms, type PlannedTerm } from '../../../../search/query/plan.ts'
import type { ScoredEvent } from '../../../../search/ranking/score.ts'
import { waitForSearchSlot } from '../../../../search/ranking/score-in-batches.ts'
import { readable } from '../../../../search/query/term-matches.ts'
import { snapshot } from '../../database.ts'
import { matchingOf, rankDocuments, type Search } from './best.ts'
import { matchExpression, type Matching, type Stage, STAGES } from './match.ts'
import { matchRows, type FoundDocument } from './rows.ts'
import { quote, within, type Bounds } from './scope.ts'

/** The conditions of all matches of a query, without their order. */
export interface Listing {
  readonly terms: readonly PlannedTerm[]
  /** Returns the match expression for the listing's documents, within bounds. */
  expression(bounds: Bounds): string
  /** Returns the hit of an event; undefined if the texts of its documents do not match the query. */
  judge(documents: readonly FoundDocument[]): Promise<ScoredEvent<FoundDocument> | undefined>
}

/**
 * Creates the listing of a stage, which is an index into `STAGES`. If the stage has no expression of its own, uses the
 * expression of the next stricter stage.
 */
export function stageListing(search: Search, terms: readonly PlannedTerm[], stage: number): Listing {
  const matching = matchingOf(search, terms)
  return {
    terms,
    expression: (bounds) => stageExpression({ ...matching, bounds }, stage),
    judge: async (documents) => (await rankDocuments(search, terms, documents)).events[0],
  }
}

function stageExpression(matching: Matching, stage: number): string {
  const expressions = STAGES.slice(0, stage + 1).map((name) => matchExpression(matching, name))
  return expressions.findLast((expression) => expression !== undefined) ?? widest(matching)
}

const widest = (matching: Matching): string =>
  matchExpression(matching, 'any') ?? matchExpression(matching, 'all') ?? ''

/** Returns the listing of the strictest way of matching that finds a document; undefined if no way finds any. */
export function strictestListing(search: Search): Listing | undefined {
  if (search.parsed.terms.length === 0) return wordlessListing(search)
  return snapshot(search.database, () => {
    const plan = (widen: boolean): PlannedTerm[] => planTerms(search.parsed, search.vocabulary, widen)
    const finds = (terms: readonly PlannedTerm[], name: Stage): boolean => {
      const expression = matchExpression(matchingOf(search, terms), name)
      const { filters } = search.query
      return (
        expression !== undefined &&
        matchRows(search.database, search.audience.range, expression, { filters, limit: 1 }).length > 0
      )
    }
    const usual = plan(false)
    const strict = (['all', 'content'] as const).find((name) => finds(usual, name))
    if (strict !== undefined) return stageListing(search, usual, STAGES.indexOf(strict))
    const wider = plan(true)
    if (finds(wider, 'all')) return stageListing(search, wider, STAGES.indexOf('all'))
    return finds(usual, 'any') ? stageListing(search, usual, STAGES.indexOf('any')) : undefined
  })
}

/** Lists the documents that contain the symbols of a query without words. An empty query matches everything. */
export function wordlessListing({ query, parsed }: Search): Listing | undefined {
  if (parsed.literal !== '' && parsed.symbols.length === 0) return undefined
  const pieces = parsed.literal === '' ? [] : parsed.literal.split(' ')
  const tokens = parsed.symbols.length === 0 ? undefined : parsed.symbols.map(quote).join(' AND ')
  const { tenant } = query.scope
  return {
    terms: [],
    expression: (bounds) => within(tokens, tenant, bounds),
    async judge(documents) {
      await waitForSearchSlot(tenant)
      const best = documents.find(({ text }) => pieces.every((piece) => readable(text).lowered.includes(piece)))
      return best && { best, score: 1, covered: 1, own: [], context: undefined }
    },
  }
}
