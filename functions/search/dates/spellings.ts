import type { DateSpellings, SpelledDate, WrittenDate } from './date-mention.ts'
import { englishNames } from './month-names.ts'

/** Weight of a spelling without the year of the date. */
const WITHOUT_YEAR = 0.9
/** Weight of the name of a month alone. */
const MONTH_ONLY = 0.6

/** Returns the ways in which texts write a date, in the orders of several countries; none if `date` is undefined. */
export function spellingsOf(date: WrittenDate | undefined): DateSpellings {
  if (date === undefined) return { texts: [], groups: [] }
  const { year, month, day } = date
  const names = englishNames(month)
  return day === undefined ? monthSpellings(year, month, names) : daySpellings(year, month, day, names)
}

function daySpellings(year: number | undefined, month: number, day: number, names: readonly string[]): DateSpellings {
  const [m, d, mm, dd] = [String(month), String(day), padded(month), padded(day)]
  const nth = `${day}${suffixOf(day)}`
  const named = names.flatMap((name) => [`${name} ${d}`, `${name} ${nth}`, `${d} ${name}`, `${nth} ${name}`])
  const numbers = [`${mm}-${dd}`, `${mm}/${dd}`, `${m}/${d}`, `${dd}.${mm}.`, `${d}.${m}.`, `${dd}/${mm}`]
  const short = [
    ...named,
    ...names.map((name) => `${nth} of ${name}`),
    ...names.map((name) => `${d}. ${name}`),
    ...numbers,
  ]
  const byName = [[...names], [...new Set([d, dd, nth])]]
  if (year === undefined) return { texts: weighted(short, 1), groups: [byName, [[mm], [dd]]] }
  const y = String(year)
  const whole = [
    ...[`${y}-${mm}-${dd}`, `${y}${mm}${dd}`, `${y}/${mm}/${dd}`, `${y}/${m}/${d}`, `${y}.${mm}.${dd}`],
    ...[`${mm}/${dd}/${y}`, `${m}/${d}/${y}`, `${dd}/${mm}/${y}`, `${d}/${m}/${y}`],
    ...[`${dd}.${mm}.${y}`, `${d}.${m}.${y}`, `${y}年${m}月${d}日`],
    ...names.flatMap((name) => [`${name} ${d}, ${y}`, `${name} ${nth}, ${y}`, `${name} ${d} ${y}`]),
    ...names.flatMap((name) => [`${d} ${name} ${y}`, `${nth} ${name} ${y}`, `${nth} of ${name} ${y}`]),
  ]
  return {
    texts: [...weighted(whole, 1), ...weighted(short, WITHOUT_YEAR)],
    groups: [[[`${y}-${mm}-${dd}`, `${y}${mm}${dd}`]], byName, [[y], [...new Set([mm, m])], [...new Set([dd, d])]]],
  }
}

function monthSpellings(year: number | undefined, month: number, names: readonly string[]): DateSpellings {
  if (year === undefined) return { texts: weighted(names, 1), groups: [[[...names]]] }
  const [y, m, mm] = [String(year), String(month), padded(month)]
  const whole = [`${y}-${mm}`, `${y}/${mm}`, `${mm}/${y}`, `${mm}.${y}`, `${y}年${m}月`]
  const named = names.flatMap((name) => [`${name} ${y}`, `${name}, ${y}`])
  return {
    texts: [...weighted([...whole, ...named], 1), ...weighted(names, MONTH_ONLY)],
    groups: [[[...names]], [[y], [...new Set([mm, m])]]],
  }
}

const weighted = (texts: readonly string[], weight: number): SpelledDate[] =>
  [...new Set(texts)].map((text) => ({ text, weight }))

const padded = (value: number): string => String(value).padStart(2, '0')

function suffixOf(day: number): string {
  if (day > 10 && day < 20) return 'th'
  return ['th', 'st', 'nd', 'rd'][day % 10] ?? 'th'
}
