import { planTerms, type PlannedTerm, type Vocabulary } from '../../search/query/plan.ts'
import type { SearchQuery } from '../../search/query/query.ts'
import { mapInBatches } from '../../search/ranking/score-in-batches.ts'
import { inflections, withinOneTypo } from '../../search/query/word-forms.ts'
import { tokenize } from '../../search/tokens/tokens.ts'
import type { Counts, Found } from './search-bodies.ts'

/** Words that a plan chooses from: whoever stores words can make any number of them. */
const MAX_WORDS = 5_000
/** A shorter word is looked for at the beginning of others only. */
const MIN_INSIDE_CHARACTERS = 3

interface Known {
  readonly tenant: string
  readonly counts: Counts
  readonly documents: readonly Found[]
}

/**
 * Plans with the words of an index as one search sees them: exact frequencies of the query's words, and for slips and pieces of
 * words those in the documents found, which is where they matter. All of it within the search's own scope. Documents are read for
 * their words only if a term needs them, in turns.
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
  const terms = planTerms(parsed, vocabularyOf(counts, none), widen)
  if (!isAsked) return terms
  const words = await countWords(tenant, documents, isAskedBy(parsed))
  return planTerms(
    parsed,
    vocabularyOf(counts, () => words),
    widen,
  )
}

function vocabularyOf(counts: Counts, found: () => ReadonlyMap<string, number>): Vocabulary {
  const those = (wanted: (word: string) => boolean): string[] =>
    [...found().keys()].filter(wanted).toSorted((left, right) => left.length - right.length || (left < right ? -1 : 1))
  return {
    documents: counts.documents,
    frequency: (token) => counts.tokens.get(token) ?? found().get(token) ?? 0,
    startingWith: (prefix, limit) => those((word) => word.startsWith(prefix)).slice(0, limit),
    resembling: (word) => those((other) => withinOneTypo(word, other)),
    containing: (part, limit) => those((word) => word.includes(part)).slice(0, limit),
  }
}

/** Whether a plan may ask for a word: one of the query, in a form of it, one slip away, or with one inside. */
function isAskedBy({ terms }: SearchQuery): (token: string) => boolean {
  const words = [...new Set(terms.flatMap((term) => term.words))]
  const exact = new Set([...terms.flatMap(({ wholes }) => wholes), ...words.flatMap(inflections)])
  const stands = (word: string, token: string): boolean =>
    word.length < MIN_INSIDE_CHARACTERS ? token.startsWith(word) : token.includes(word)
  return (token) => exact.has(token) || words.some((word) => stands(word, token) || withinOneTypo(word, token))
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
