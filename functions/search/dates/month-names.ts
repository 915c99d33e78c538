import { fold, lower } from '../tokens/fold-text.ts'

/** Languages whose names of months are read, besides English. */
const LANGUAGES = ['de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv', 'da', 'tr']
const MONTHS = Array.from({ length: 12 }, (_, index) => index + 1)

/** English names of the months, and their abbreviations. */
const LONG = 'january february march april may june july august september october november december'.split(' ')
const SHORT = [...LONG.map((name) => [name.slice(0, 3)])]
SHORT[8]?.push('sept')

/** Returns a month's English names: the whole name first. */
export const englishNames = (month: number): string[] => [
  ...new Set([LONG[month - 1] ?? '', ...(SHORT[month - 1] ?? [])]),
]

/** Returns the months by all their names, folded and in lower case. Takes some 20 ms, so a caller keeps the map. */
export const monthsByName = (): ReadonlyMap<string, number> =>
  new Map([
    ...LANGUAGES.flatMap(foreignNames),
    ...MONTHS.flatMap((month) => englishNames(month).map((name) => [name, month] as const)),
  ])

function foreignNames(language: string): (readonly [name: string, month: number])[] {
  const format = new Intl.DateTimeFormat(language, { month: 'long', day: 'numeric', timeZone: 'UTC' })
  return MONTHS.map((month) => {
    const parts = format.formatToParts(Date.UTC(2026, month - 1, 1))
    return [lower(fold(parts.find(({ type }) => type === 'month')?.value ?? '')), month]
  })
}

/** Returns a pattern of these names, longest first. */
export const patternOf = (names: Iterable<string>): string =>
  `(?:${[...names]
    .filter((name) => name !== '')
    .toSorted((left, right) => right.length - left.length)
    .join('|')})`

/** Names that are also common words. Without a day or a year, they name a month only after a preposition. */
export const AMBIGUOUS_NAMES: ReadonlySet<string> = new Set(['may', 'march', 'mars', 'mai', 'mar', 'dec', 'jan', 'sep'])
