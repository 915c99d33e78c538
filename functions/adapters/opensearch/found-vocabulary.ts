import type { Vocabulary } from '../../search/plan.ts'
import { tokenize } from '../../search/tokens.ts'
import type { Counts, Found } from './search-bodies.ts'

/**
 * The words of an index as one search sees them: exact frequencies of the query's words, and for slips and pieces of words
 * those in the documents found, which is where they matter. All of it within the search's own scope.
 */
export function foundVocabulary(counts: Counts, documents: readonly Found[]): Vocabulary {
  let known: ReadonlyMap<string, number> | undefined
  const found = (): ReadonlyMap<string, number> => (known ??= countWords(documents))
  const those = (wanted: (word: string) => boolean): string[] =>
    [...found().keys()].filter(wanted).toSorted((left, right) => left.length - right.length || (left < right ? -1 : 1))
  return {
    documents: counts.documents,
    frequency: (token) => counts.tokens.get(token) ?? found().get(token) ?? 0,
    startingWith: (prefix, limit) => those((word) => word.startsWith(prefix)).slice(0, limit),
    resembling: (word) => those(({ length }) => Math.abs(length - word.length) <= 1),
    containing: (part, limit) => those((word) => word.includes(part)).slice(0, limit),
  }
}

function countWords(documents: readonly Found[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { _source } of documents) {
    const texts = [_source.text, _source.call, _source.tool]
    const tokens = texts.flatMap((text) => (text === undefined ? [] : [tokenize(text)]))
    for (const word of new Set(tokens.flatMap(({ words, extra }) => [...words, ...extra])))
      counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return counts
}
