import type { HistoryQuery } from '../../../../domain/history.ts'
import { timesAround, type Period } from '../../../../search/dates/period.ts'
import { MAX_QUERY, MAX_TERMS } from '../../../../search/query/query.ts'
import { tokenize } from '../../../../search/tokens/tokens.ts'
import { meaningful, type PlannedTerm } from '../../../../search/query/plan.ts'
import { anyExpression, quote, roleToken, within, type Bounds } from './scope.ts'
import { coveringTokens } from './time-tokens.ts'

/** Ways to match, from strict to wide. */
export const STAGES = ['all', 'content', 'any'] as const
export type Stage = (typeof STAGES)[number]

/** Words count as near each other if at most this many other words are between them. */
const NEAR_WORDS = 10
/** Maximum number of documents that the widest way of matching may read. */
const MAX_ANY = 4_000
/**
 * Minimum number of parts that the widest way of matching tries if nothing else was found, even if these parts are
 * common.
 */
export const MIN_ANY = 3

/** A query with its planned terms and its bounds. */
export interface Matching {
  readonly query: HistoryQuery
  readonly terms: readonly PlannedTerm[]
  readonly bounds: Bounds
}

/**
 * Returns the match expression of a query. `all`: all terms must match. `content`: all terms with content must match.
 * `any`: one of the rarest terms must match. Returns undefined if the expression equals a stricter one.
 */
export function matchExpression(matching: Matching, stage: Stage): string | undefined {
  const { terms } = matching
  if (stage === 'all') return bounded(matching, `(${terms.map(termExpression).join(' AND ')})`)
  if (stage === 'content') {
    const content = terms.filter(({ term }) => term.weight === 1)
    if (content.length === terms.length || content.length === 0) return undefined
    return bounded(matching, `(${content.map(termExpression).join(' AND ')})`)
  }
  const parts = rareParts(terms, MIN_ANY)
  // A part may be a word of a compound, which matches more documents than the whole term. So a single part is tried
  // unless it equals the only term. This finds names that were typed only partly.
  const [only] = parts
  const isSame = parts.length === 1 && terms.length === 1 && terms[0] && only?.expression === termExpression(terms[0])
  if (parts.length === 0 || isSame === true) return undefined
  return bounded(matching, `(${parts.map(({ expression }) => expression).join(' OR ')})`)
}

const bounded = ({ query, bounds }: Matching, expression: string): string =>
  within(expression, query.scope.tenant, bounds)

/** A part of a query that a document may match, its weight, and the approximate number of its documents. */
interface RarePart {
  readonly expression: string
  readonly importance: number
  readonly frequency: number
}

/**
 * Returns the rarest terms and the rarest words of compounds. The sum of their frequencies is at most `MAX_ANY`.
 * However, at least `least` parts are returned, even if these are common. Each part is matched separately.
 */
export function rareParts(terms: readonly PlannedTerm[], least: number): RarePart[] {
  const parts = terms
    .flatMap((planned) => [
      { expression: termExpression(planned), importance: planned.importance, frequency: planned.frequency },
      ...looseParts(planned),
    ])
    .filter(({ frequency }) => frequency > 0)
    .toSorted((left, right) => left.frequency - right.frequency)
  let documents = 0
  return parts.filter(({ frequency }, index) => {
    documents += frequency
    return documents <= MAX_ANY || index < least
  })
}

/**
 * Returns each subset of these parts as one expression, which matches documents with all parts of the subset. Returns
 * undefined if the parts are rare enough to read all their documents.
 */
export function rareSubsets(parts: readonly RarePart[]): Pick<RarePart, 'expression' | 'importance'>[] | undefined {
  const documents = parts.reduce((sum, { frequency }) => sum + frequency, 0)
  if (parts.length > MIN_ANY || (documents <= MAX_ANY && parts.length !== 1)) return undefined
  return parts.reduce<Pick<RarePart, 'expression' | 'importance'>[]>(
    (subsets, { expression, importance }) => [
      ...subsets,
      { expression, importance },
      ...subsets.map((other) => ({
        expression: `${other.expression} AND ${expression}`,
        importance: other.importance + importance,
      })),
    ],
    [],
  )
}

/** Returns the part's match expression within the bounds. */
export const partExpression = (matching: Matching, { expression }: Pick<RarePart, 'expression'>): string =>
  bounded(matching, `(${expression})`)

/**
 * Returns expressions that select the documents to read first when very many documents match. Such a document contains
 * the literal query, contains the query's words near each other, or is a tool call that contains all these words.
 */
export function denseExpressions(matching: Matching): string[] {
  const { query, terms } = matching
  const words = [...new Set(terms.filter(({ term }) => term.weight === 1).flatMap(({ term }) => term.words))].map(quote)
  const phrase = tokenize(query.text.slice(0, MAX_QUERY)).words.slice(0, MAX_TERMS)
  const ways = [
    ...(phrase.length < 2 ? [] : [phrase.map(quote).join(' + ')]),
    ...(words.length < 2 ? [] : [`NEAR(${words.join(' ')}, ${NEAR_WORDS})`]),
    ...(words.length === 0 ? [] : [`(${words.join(' AND ')} AND ${quote(roleToken('tool_call'))})`]),
  ]
  return ways.map((way) => bounded(matching, way))
}

/**
 * Returns the words of a compound as separate parts. They match documents that do not contain all the words together.
 */
function looseParts({ parts, importance }: PlannedTerm): RarePart[] {
  return meaningful(parts).map(({ tokens, frequency }) => ({
    expression: anyOf(tokens),
    importance: importance / (2 * parts.length),
    frequency,
  }))
}

function termExpression({ alternatives, period }: PlannedTerm): string {
  const ways = alternatives.map((groups) => `(${groups.map(anyOf).join(' AND ')})`)
  return anyExpression([...ways, ...(period === undefined ? [] : timeTokens(period))])
}

/** Returns expressions that match documents from shortly before the period to shortly after it, in whole hours. */
function timeTokens(period: Period): string[] {
  const { since, until } = timesAround(period)
  return (coveringTokens(since, until) ?? []).map(quote)
}

const anyOf = (tokens: readonly string[]): string => `(${tokens.map(quote).join(' OR ')})`
