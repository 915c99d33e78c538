import { definedFields } from '../domain/defined-fields.ts'
import type { HistoryQuery, MatchedTerm, MatchPlace, Understood } from '../domain/history.ts'
import type { PlannedTerm } from './query/plan.ts'
import { parseQuery } from './query/query.ts'
import { matchesOf, readable } from './query/term-matches.ts'
import type { ScoredEvent } from './ranking/score.ts'
import type { Candidate } from './ranking/rows.ts'

/** Returns the period and the terms that a search reads from its query. */
export function understoodOf({ text, filters, asked }: Pick<HistoryQuery, 'text' | 'filters' | 'asked'>): Understood {
  const { terms, symbols, literal, period } = parseQuery(text, filters.role, asked)
  const words = terms.flatMap((term) => (term.date === undefined ? [term.text] : []))
  return {
    ...definedFields({ since: period?.since, until: period?.until }),
    terms: symbols.length > 0 ? literal.split(' ') : words,
  }
}

/** Returns which terms an event matches, and where. A date is not a term: the time of the hit shows it. */
export function matchedTerms<Found extends Candidate>(
  terms: readonly PlannedTerm[],
  { best, own, context }: Pick<ScoredEvent<Found>, 'best' | 'own' | 'context'>,
): MatchedTerm[] {
  const toolName = readable(best.toolName ?? '')
  return terms.flatMap((planned, index) => {
    if (planned.term.date !== undefined) return []
    const where: MatchPlace[] = [
      ...((own[index] ?? 0) > 0 ? ['entry' as const] : []),
      ...((context?.[index] ?? 0) > 0 ? ['neighbour' as const] : []),
      ...(best.toolName !== undefined && matchesOf(planned, toolName).length > 0 ? ['tool_name' as const] : []),
    ]
    return where.length === 0 ? [] : [{ term: planned.term.text, where }]
  })
}
