import { addDays, addMonths, compareDays, isDay, type Day, type Days } from './calendar.ts'
import type { DateMention } from './date-mention.ts'
import { AMBIGUOUS_NAMES, monthsByName, patternOf } from './month-names.ts'
import { readRelativeDates } from './relative-dates.ts'

/**
 * `BEFORE` and `AFTER`: no letter or digit may be next to a date, not even across a joiner. So parts of identifiers and
 * paths are no dates.
 */
const BEFORE = String.raw`(?<![\p{L}\p{N}]|[\p{L}\p{N}][-_./:@+#~])`
const AFTER = String.raw`(?![\p{L}\p{N}]|[-_./:@+#~]+[\p{L}\p{N}])`
const ORDINALS =
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth'.split(
    ' ',
  )
const TENS = { twenty: 20, thirty: 30 }
const ORDINAL = `(?:(?:twenty|thirty)[- ])?(?:${ORDINALS.join('|')})|thirtieth`
const DAY = String.raw`(?<day>\d{1,2}(?:st|nd|rd|th|\.)?|${ORDINAL})`
const YEAR = String.raw`(?<year>(?:19|20)\d\d)`
const LINK = String.raw`(?:\s+(?:of|de))?\s+`

/** Months by name, and the patterns of dates, from specific to general. */
interface DatePatterns {
  readonly months: ReadonlyMap<string, number>
  readonly patterns: readonly RegExp[]
}

let created: DatePatterns | undefined

/** Returns the patterns. They are created at the first query, because a cold start should not wait for them. */
const datePatterns = (): DatePatterns => (created ??= createPatterns())

function createPatterns(): DatePatterns {
  const months = monthsByName()
  const name = String.raw`(?<name>${patternOf(months.keys())})\.?`
  const patterns = [
    `${BEFORE}${YEAR}-(?<month>\\d{1,2})-(?<day>\\d{1,2})(?:t[\\d:.]+(?:z|[+-]\\d\\d:?\\d\\d)?)?${AFTER}`,
    `${BEFORE}${YEAR}[/.](?<month>\\d{1,2})[/.](?<day>\\d{1,2})${AFTER}`,
    `(?:${YEAR}年)?(?<month>\\d{1,2})月(?:(?<day>\\d{1,2})日)?`,
    `(?<!\\b(?:version|release|chapter|section|step)\\s)${BEFORE}(?<day>\\d{1,2})\\.(?<month>\\d{1,2})\\.(?:\\s?${YEAR})?(?![\\p{L}\\p{N}])`,
    `${BEFORE}(?<first>\\d{1,2})/(?<second>\\d{1,2})/${YEAR}${AFTER}`,
    `${BEFORE}${DAY}${LINK}${name}(?:,?${LINK}${YEAR})?${AFTER}`,
    `${BEFORE}${name}\\s+(?:the\\s+)?${DAY}(?:,?\\s+${YEAR})?${AFTER}`,
    `${BEFORE}${name},?${LINK}${YEAR}${AFTER}`,
    `${BEFORE}${YEAR}-(?<month>0[1-9]|1[0-2])${AFTER}`,
    `${BEFORE}(?:(?<lead>in|during|last|this|since|before|until|till|after)\\s+)?${name}${AFTER}`,
    `${BEFORE}(?:in|during|since|before|until|till|after)\\s+${YEAR}${AFTER}`,
  ].map((pattern) => new RegExp(pattern, 'gu'))
  return { months, patterns }
}

const PREPOSITION = /(?<word>since|after|before|until|till)\s+(?:the\s+)?$/u
const LEADING = /^(?<word>since|after|before|until|till)\s/u
/** Matches quoted parts, which are searched as they are. */
const QUOTED = /"[^"]*"|«[^»]*»|“[^”]*”|`[^`]*`/gu
/** Maximum number of dates that are read in a query. */
const MAX_DATES = 4

/** Finds the dates in a folded text in lower case. `today` is the caller's day. */
export function readDates(text: string, today: Day): DateMention[] {
  const taken = Array.from(text.matchAll(QUOTED), ({ 0: quoted, index }) => ({
    start: index,
    end: index + quoted.length,
  }))
  const found: DateMention[] = []
  const add = (mention: DateMention): void => {
    if (taken.some(({ start, end }) => mention.start < end && start < mention.end)) return
    taken.push(mention)
    found.push(mention)
  }
  const { months, patterns } = datePatterns()
  for (const pattern of patterns)
    for (const match of text.matchAll(pattern)) {
      const read = mentionOf(match, today, months)
      if (read !== undefined) add(read)
    }
  for (const mention of readRelativeDates(text, today)) add(mention)
  const ordered = found.toSorted((left, right) => left.start - right.start).slice(0, MAX_DATES)
  const year = ordered.find(({ written }) => written?.year !== undefined)?.written?.year
  return ordered.map((mention) => withPreposition(text, year === undefined ? mention : withYear(mention, year, today)))
}

/** Adds the year of another date in the query to a date without a year: "from 3 March to 10 March 2025". */
function withYear(mention: DateMention, year: number, today: Day): DateMention {
  const { written } = mention
  if (written === undefined || written.year !== undefined) return mention
  const { month, day } = written
  const days = day === undefined ? monthOf(year, month, today) : dayOf(year, month, day, today)
  return days === undefined ? mention : { ...mention, days, written: { year, month, day } }
}

function mentionOf(
  { 0: matched, index, groups = {} }: RegExpExecArray,
  today: Day,
  months: ReadonlyMap<string, number>,
): DateMention | undefined {
  const year = groups['year'] === undefined ? undefined : Number(groups['year'])
  const place = { start: index, end: index + matched.length }
  const { name, lead } = groups
  const [first, second] = [Number(groups['first']), Number(groups['second'])]
  if (first > 12 === second > 12 && groups['first'] !== undefined) return undefined
  const month =
    name === undefined ? (first > 12 ? second : Number(groups['month'] ?? groups['first'])) : months.get(name)
  const day = groups['first'] === undefined ? dayNumber(groups['day']) : Math.max(first, second)
  if (name !== undefined && day === undefined && year === undefined && lead === undefined && AMBIGUOUS_NAMES.has(name))
    return undefined
  if (month === undefined || Number.isNaN(month))
    return year === undefined ? undefined : { ...place, days: yearOf(year) }
  const days = day === undefined ? monthOf(year, month, today) : dayOf(year, month, day, today)
  return days && { ...place, days, written: { year, month, day } }
}

function dayNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d/u.test(text)) return Number.parseInt(text, 10)
  if (text === 'thirtieth') return 30
  const [tens, ones] = /[- ]/u.test(text) ? text.split(/[- ]/u) : ['', text]
  return (TENS[tens as keyof typeof TENS] ?? 0) + ORDINALS.indexOf(ones ?? '') + 1
}

const yearOf = (year: number): Days => ({ from: { year, month: 1, day: 1 }, to: { year: year + 1, month: 1, day: 1 } })

/** Returns the days of a month. Without a year, the month is the latest one of this name that has begun. */
function monthOf(year: number | undefined, month: number, today: Day): Days | undefined {
  if (month < 1 || month > 12) return undefined
  const thisYear = { year: year ?? today.year, month, day: 1 }
  const from = year === undefined && compareDays(thisYear, today) > 0 ? { ...thisYear, year: today.year - 1 } : thisYear
  return { from, to: addMonths(from, 1) }
}

/** Returns one day. Without a year, the day is the latest one up to today. */
function dayOf(year: number | undefined, month: number, day: number, today: Day): Days | undefined {
  const years = year === undefined ? Array.from({ length: 9 }, (_, back) => today.year - back) : [year]
  const from = years
    .map((one) => ({ year: one, month, day }))
    .find((one) => isDay(one) && (year !== undefined || compareDays(one, today) <= 0))
  return from && { from, to: addDays(from, 1) }
}

/** Returns an open-ended period for a date that follows a preposition, as in "since 3 March" and "before 2025". */
function withPreposition(text: string, mention: DateMention): DateMention {
  const before = PREPOSITION.exec(text.slice(0, mention.start))
  const word = before?.groups?.['word'] ?? LEADING.exec(text.slice(mention.start, mention.end))?.groups?.['word']
  if (word === undefined) return mention
  const { from, to } = mention.days
  const days = { since: { from }, after: { from: to }, before: { to: from }, until: { to }, till: { to } }[word] ?? {}
  const start = before === null ? mention.start : before.index
  return { ...mention, start, days: Object.fromEntries(Object.entries(days).filter(([, day]) => day !== undefined)) }
}
