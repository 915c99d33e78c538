import { definedFields } from '../../domain/defined-fields.ts'
import { timesAround } from '../../search/dates/period.ts'
import type { DateSpellings } from '../../search/dates/date-mention.ts'
import { meaningful, stemPrefix } from '../../search/query/plan.ts'
import type { SearchQuery, SearchTerm } from '../../search/query/query.ts'
import { inflections } from '../../search/query/word-forms.ts'

export type Clause = Readonly<Record<string, unknown>>

/** Limits that keep any query below the engine's 1,024 clauses. */
const MAX_WORDS = 60
const MAX_FORMS = 120
const MAX_WIDENED = 10
const FUZZY_LENGTHS = { least: 4, most: 24 }
const MIN_PIECE_CHARACTERS = 3
/**
 * Minimum length, in characters, from which a word is searched inside other words. A shorter word is searched only at
 * the beginning of other words.
 */
export const MIN_INSIDE_CHARACTERS = 3
/**
 * Small bonus for a second matching field. All parts of a long output contain its call. With the bonus, parts whose own
 * text has the word rank first.
 */
const PASSAGE = 0.01

/** Minimum weight of a date. A word that every third document contains has about this weight. */
const MIN_DATE_WORTH = 1

/** A query word and its inflections. */
export interface QueryWord {
  readonly word: string
  readonly forms: readonly string[]
  /** Whether words one typo away, and words with this prefix, match too. */
  readonly widened: boolean
}

/**
 * A term in two forms: the strict form matches documents that certainly contain it, the loose form finds candidates.
 */
export interface TermGroup {
  readonly term: SearchTerm
  readonly words: readonly QueryWord[]
  /** For a date: entries of this time match the term, whatever their text is. */
  readonly time?: { readonly since: number; readonly until: number }
}

/** Returns the term groups of a query. */
export function termGroups(query: SearchQuery): TermGroup[] {
  let [words, forms, widened] = [0, 0, 0]
  const time = query.period && timesAround(query.period)
  return query.terms.map((term) => ({
    term,
    ...definedFields({ time: term.date && time }),
    words: term.words.slice(0, Math.max(1, MAX_WORDS - words)).map((word): QueryWord => {
      words += 1
      const own = inflections(word).slice(0, Math.max(0, MAX_FORMS - forms))
      forms += own.length
      return { word, forms: own, widened: word.length >= MIN_PIECE_CHARACTERS && widened++ < MAX_WIDENED }
    }),
  }))
}

/** Returns every token whose frequency a plan may need. */
export const countedTokens = (groups: readonly TermGroup[]): string[] => [
  ...new Set(
    groups.flatMap(({ term, words }) => [
      ...term.wholes,
      ...(term.date?.groups.flat(2) ?? []),
      ...words.flatMap(({ word, forms }) => [word, ...forms]),
    ]),
  ),
]

/** Words to search inside other words. */
export type Inside = ReadonlySet<string>

/** Matches documents with the term: its whole form or all its words, exact or inflected. */
export function strictClause({ term, words, time }: TermGroup, inside: Inside): Clause {
  if (term.date !== undefined) return dateClause(term.date, time)
  const every = words.map(({ word, forms }) => {
    const exact = { terms: { t_all: [word, ...forms] } }
    return inside.has(word) ? anyOf([exact, holding(word)]) : exact
  })
  const together = every.length === 1 ? every[0] : { bool: { filter: every } }
  if (term.wholes.length === 0) return together ?? { match_none: {} }
  return anyOf([{ terms: { t_all: term.wholes } }, ...(together === undefined ? [] : [together])])
}

/** Matches documents that contain the date in one of its spellings, or whose own time is within it. */
function dateClause({ groups }: DateSpellings, time: TermGroup['time']): Clause {
  const written = groups.map((tokens) => ({ bool: { filter: tokens.map((some) => ({ terms: { t_all: some } })) } }))
  return anyOf([...written, ...(time === undefined ? [] : [{ range: { time: timeRange(time.since, time.until) } }])])
}

/** Builds a time range. Bounds may be any numbers, but the engine requires 64-bit integers. */
export function timeRange(since: number | undefined, until: number | undefined): object {
  const whole = (time: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.max(Number.MIN_SAFE_INTEGER, time))
  return {
    ...(since === undefined ? {} : { gte: Math.ceil(whole(since)) }),
    ...(until === undefined ? {} : { lte: Math.floor(whole(until)) }),
  }
}

/** Returns the weight of a token within the searcher's scope. */
export type Worth = (token: string) => number

/**
 * Matches and scores documents that may contain the term: inflected, with a typo, as a prefix, or with some words of a
 * compound. Every score is constant, because the engine's own scores would reveal how often other tenants use a word.
 */
export function looseClause({ term, words, time }: TermGroup, inside: Inside, worth: Worth): Clause {
  if (term.date !== undefined) {
    const worthOfAll = term.date.groups.map((tokens) => Math.max(...tokens.map((some) => Math.min(...some.map(worth)))))
    return constant(dateClause(term.date, time), Math.max(MIN_DATE_WORTH, ...worthOfAll))
  }
  const singles = meaningful(words).map((word) => wordClause(word, inside, worth))
  const [only] = singles
  if (term.wholes.length === 0 && singles.length === 1 && only !== undefined) return only
  return best([...term.wholes.map((whole) => exactClause(whole, worth(whole))), anyOf(singles)])
}

/**
 * Builds an exact match in the four fields with the measured weights: a tool's name counts double, alternative names
 * half.
 */
function exactClause(token: string, worth: number): Clause {
  const fields = { t_tool: 2, t_call: 1, t_body: 1, t_extra: 0.5 }
  const clauses = Object.entries(fields).map(([field, boost]) => constant({ term: { [field]: token } }, boost * worth))
  return { dis_max: { queries: clauses, tie_breaker: PASSAGE } }
}

function wordClause({ word, forms, widened }: QueryWord, inside: Inside, worthOf: Worth): Clause {
  const { least, most } = FUZZY_LENGTHS
  const fuzzy = widened && word.length >= least && word.length <= most && /^[\p{L}\p{N}]+$/u.test(word)
  const worth = worthOf(word)
  const stem = stemPrefix(word)
  return best([
    exactClause(word, worth),
    ...(stem === undefined ? [] : [constant({ prefix: { t_all: stem } }, 0.2 * worth)]),
    ...forms.map((form) => constant({ term: { t_all: form } }, 0.8 * worthOf(form))),
    ...(fuzzy ? [constant({ fuzzy: { t_all: fuzziness(word) } }, 0.4 * worth)] : []),
    ...(widened ? [constant({ prefix: { t_all: word } }, 0.3 * worth)] : []),
    ...(inside.has(word) ? [constant(holding(word), 0.5 * worth)] : []),
  ])
}

/**
 * Matches all words one typo away. If their number were limited, other tenants' words could displace the right ones.
 */
const fuzziness = (value: string): Clause => ({ value, fuzziness: 1, prefix_length: 0, rewrite: 'constant_score' })
/** Matches words that contain this word or, if it is short, words that begin with it. */
const holding = (word: string): Clause =>
  word.length < MIN_INSIDE_CHARACTERS
    ? { prefix: { t_all: word } }
    : { wildcard: { t_all: `*${word.replace(/[*?\\]/gu, String.raw`\$&`)}*` } }
const constant = (filter: Clause, boost: number): Clause => ({
  constant_score: { filter, boost: Math.max(0.01, boost) },
})
const best = (queries: readonly Clause[]): Clause => ({ dis_max: { queries } })
export const anyOf = (should: readonly Clause[]): Clause => ({ bool: { should, minimum_should_match: 1 } })
