import type { HistoryQuery } from '../../domain/history.ts'
import type { PlannedTerm } from '../../log/search-plan.ts'
import { quote, scopeExpression } from './history-scope.ts'

/** Ways to match, from strict to wide. */
export const STAGES = ['all', 'content', 'any'] as const
export type Stage = (typeof STAGES)[number]

/** Documents that the widest way may look at. */
const MAX_ANY = 5_000

/**
 * The match expression of a query: `all` terms, all that carry `content`, or `any` of the rarest. Undefined where it would be
 * the same as a stricter one.
 */
export function matchExpression(query: HistoryQuery, terms: readonly PlannedTerm[], stage: Stage): string | undefined {
  const content = terms.filter(({ term }) => term.weight === 1)
  const scope = scopeExpression(query.scope, query.filters)
  if (stage === 'all') return `(${terms.map(termExpression).join(' AND ')}) AND ${scope}`
  if (stage === 'content') {
    if (content.length === terms.length || content.length === 0) return undefined
    return `(${content.map(termExpression).join(' AND ')}) AND ${scope}`
  }
  if (terms.length === 1 && (terms[0]?.term.words.length ?? 1) === 1) return undefined
  return `(${rarest(terms).join(' OR ')}) AND ${scope}`
}

/** A match expression that admits everything of the scope that has these tokens. */
export function tokensExpression(query: HistoryQuery, tokens: readonly string[]): string {
  return [...tokens.map(quote), scopeExpression(query.scope, query.filters)].join(' AND ')
}

function rarest(terms: readonly PlannedTerm[]): string[] {
  const expressions: string[] = []
  let documents = 0
  for (const term of terms.toSorted((left, right) => left.frequency - right.frequency)) {
    documents += term.frequency
    if (documents > MAX_ANY && expressions.length > 0) break
    expressions.push(termExpression(term), ...looseParts(term))
  }
  return expressions
}

/** The words of a compound one by one: the best that is left when they stand nowhere together. */
function looseParts({ term, alternatives }: PlannedTerm): string[] {
  if (term.words.length < 2) return []
  return (alternatives.at(-1) ?? []).map((group) => anyOf(group))
}

function termExpression({ alternatives }: PlannedTerm): string {
  return `(${alternatives.map((groups) => `(${groups.map(anyOf).join(' AND ')})`).join(' OR ')})`
}

const anyOf = (tokens: readonly string[]): string => `(${tokens.map(quote).join(' OR ')})`
