import { planTerms, type PlannedTerm, type Vocabulary } from '../../functions/search/query/plan.ts'
import { parseQuery, type SearchQuery } from '../../functions/search/query/query.ts'
import { tokenize } from '../../functions/search/tokens/tokens.ts'

/** Builds the vocabulary that an index of these texts would have. */
function vocabularyOf(texts: readonly string[]): Vocabulary {
  const counts = new Map<string, number>()
  for (const text of texts) {
    const { words, extra } = tokenize(text)
    for (const token of new Set([...words, ...extra])) counts.set(token, (counts.get(token) ?? 0) + 1)
  }
  const known = [...counts.keys()].toSorted((left, right) => left.length - right.length)
  return {
    documents: texts.length,
    frequency: (token) => counts.get(token) ?? 0,
    startingWith: (prefix, limit) => known.filter((word) => word.startsWith(prefix)).slice(0, limit),
    beginningWith: (prefix, limit) => known.filter((word) => word.startsWith(prefix)).slice(0, limit),
    resembling: () => known,
    containing: (part, limit) => known.filter((word) => word.includes(part)).slice(0, limit),
  }
}

/** Plans a query with the vocabulary of these texts. */
export function plan(query: string, texts: readonly string[]): { parsed: SearchQuery; terms: PlannedTerm[] } {
  const parsed = parseQuery(query)
  return { parsed, terms: planTerms(parsed, vocabularyOf(texts), false) }
}
