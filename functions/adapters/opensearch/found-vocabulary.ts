import { planTerms, stemPrefix, type PlannedTerm, type Vocabulary } from '../../search/query/plan.ts'
import type { SearchQuery } from '../../search/query/query.ts'
import { mapInBatches } from '../../search/ranking/score-in-batches.ts'
import { inflections, withinOneTypo } from '../../search/query/word-forms.ts'
import { tokenize } from '../../search/tokens/tokens.ts'
import type { Counts, Found } from './search-bodies.ts'
import { MIN_INSIDE_CHARACTERS } from './term-groups.ts'

/** Maximum number of words from which expansions are chosen. The stored documents may contain any number of words. */
const MAX_WORDS = 5_000

interface Known {
  readonly tenant: string
  readonly counts: Counts
  readonly documents: readonly Found[]
}

/**
 * Plans the terms with the vocabulary of one search, which has only words within the search's scope. The frequencies of
 * the query's words are exact. Words with typos and words that contain a query word come from the found documents,
 * which are the relevant ones. Documents are tokenized only if a term needs it, in small batches.
 */
export async function planFound(
  parsed: SearchQuery,
  { tenant, counts, documents }: Known,
  widen: boolean,
): Promise<PlannedTerm[]> {
  let isAsked = false
  const none = (): ReadonlyMap<string, number> => {
    isAsked = true
    return new Map()
  }
  const stems = await countBeginnings(tenant, documents, parsed)
  const terms = planTerms(parsed, vocabularyOf(counts, stems, none), widen)
  if (!isAsked) return terms
  const words = await countWords(tenant, documents, isAskedBy(parsed))
  return planTerms(
    parsed,
    vocabularyOf(counts, stems, () => words),
    widen,
  )
}

function vocabularyOf(
  counts: Counts,
  stems: ReadonlyMap<string, number>,
  found: () => ReadonlyMap<string, number>,
): Vocabulary {
  const those = (wanted: (word: string) => boolean): string[] =>
    [...found().keys()].filter(wanted).toSorted((left, right) => left.length - right.length || (left < right ? -1 : 1))
  return {
    documents: counts.documents,
    frequency: (token) => counts.tokens.get(token) ?? stems.get(token) ?? found().get(token) ?? 0,
    beginningWith: (prefix, limit) => [...stems.keys()].filter((word) => word.startsWith(prefix)).slice(0, limit),
    startingWith: (prefix, limit) => those((word) => word.startsWith(prefix)).slice(0, limit),
    resembling: (word) => those((other) => withinOneTypo(word, other)),
    containing: (part, limit) => those((word) => word.includes(part)).slice(0, limit),
  }
}

/**
 * Returns a test for words that a plan may use: a query word, its inflection, a word one typo away, or a word that
 * contains a query word.
 */
function isAskedBy({ terms }: SearchQuery): (token: string) => boolean {
  const words = [...new Set(terms.flatMap((term) => term.words))]
  const exact = new Set([...terms.flatMap(({ wholes }) => wholes), ...words.flatMap(inflections)])
  const isContained = (word: string, token: string): boolean =>
    word.length < MIN_INSIDE_CHARACTERS ? token.startsWith(word) : token.includes(word)
  return (token) => exact.has(token) || words.some((word) => isContained(word, token) || withinOneTypo(word, token))
}

/**
 * For each English word that begins like the stem of a query's word, counts the documents with it. Reads only these
 * words, which is much faster than tokenizing the documents.
 */
async function countBeginnings(
  tenant: string,
  documents: readonly Found[],
  { terms }: SearchQuery,
): Promise<Map<string, number>> {
  const prefixes = new Set(terms.flatMap(({ words }) => words).flatMap((word) => stemPrefix(word) ?? []))
  const counts = new Map<string, number>()
  if (prefixes.size === 0) return counts
  const pattern = new RegExp(String.raw`\b(?:${[...prefixes].join('|')})[a-z]*\b`, 'giu')
  await mapInBatches(tenant, documents, ({ _source: { text, call = '' } }) => {
    const words = [text, call].flatMap((one) => one.match(pattern) ?? []).map((word) => word.toLowerCase())
    for (const word of new Set(words)) {
      const count = counts.get(word) ?? (counts.size < MAX_WORDS ? 0 : undefined)
      if (count !== undefined) counts.set(word, count + 1)
    }
  })
  return counts
}

async function countWords(
  tenant: string,
  documents: readonly Found[],
  isAsked: (token: string) => boolean,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  await mapInBatches(tenant, documents, ({ _source }) => {
    const texts = [_source.text, _source.call, _source.tool]
    const tokens = texts.flatMap((text) => (text === undefined ? [] : [tokenize(text)]))
    for (const word of new Set(tokens.flatMap(({ words, extra }) => [...words, ...extra]))) {
      const count = counts.get(word) ?? (counts.size < MAX_WORDS && isAsked(word) ? 0 : undefined)
      if (count !== undefined) counts.set(word, count + 1)
    }
  })
  return counts
}
