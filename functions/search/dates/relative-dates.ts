import { addDays, addMonths, daysSinceMonday, type Day, type Days } from './calendar.ts'
import type { DateMention } from './date-mention.ts'

const WEEKDAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ')
const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const COUNT = String.raw`(?<count>\d{1,3}|an?|${NUMBERS.slice(1).join('|')}|a couple of|a few)`
const UNIT = '(?<unit>day|week|month|year)'

/** Patterns of English relative dates, from specific to general. */
const PATTERNS = [
  String.raw`\bthe day before yesterday\b`,
  String.raw`\b${COUNT} ${UNIT}s? ago\b`,
  String.raw`\b(?:in|over|during|within) the (?:last|past) ${COUNT} ${UNIT}s?\b`,
  String.raw`\b(?:the )?(?:last|past) ${COUNT} ${UNIT}s\b`,
  String.raw`\b(?<which>last|past|this|previous) ${UNIT}\b`,
  String.raw`\b(?:on|last|this|past) (?<weekday>${WEEKDAYS.join('|')})\b`,
  String.raw`\b(?<word>today|yesterday|tonight|last night)\b`,
].map((pattern) => new RegExp(pattern, 'gu'))
const FEW = 3
const DAYS_OF_WEEK = 7

/** Finds English relative dates, such as "last week" and "three days ago". */
export const readRelativeDates = (text: string, today: Day): DateMention[] =>
  PATTERNS.flatMap((pattern) =>
    Array.from(text.matchAll(pattern), ({ 0: matched, index, groups }) => ({
      start: index,
      end: index + matched.length,
      days: daysOf(matched, groups ?? {}, today),
    })),
  )

function daysOf(matched: string, groups: Readonly<Record<string, string | undefined>>, today: Day): Days {
  const { count, unit, which, weekday, word } = groups
  if (weekday !== undefined) {
    const back = (daysSinceMonday(today) - WEEKDAYS.indexOf(weekday) + DAYS_OF_WEEK) % DAYS_OF_WEEK
    return oneDay(addDays(today, -(back === 0 && matched.startsWith('last') ? DAYS_OF_WEEK : back)))
  }
  if (word !== undefined) return oneDay(addDays(today, word === 'today' || word === 'tonight' ? 0 : -1))
  if (unit === undefined) return oneDay(addDays(today, -2))
  if (count === undefined) return unitOf(today, unit, which === 'this' ? 0 : -1)
  const number = numberOf(count)
  if (matched.endsWith('ago')) return unit === 'day' ? oneDay(addDays(today, -number)) : unitOf(today, unit, -number)
  return { from: unit === 'day' ? addDays(today, -number) : backFrom(today, unit, number), to: addDays(today, 1) }
}

const oneDay = (day: Day): Days => ({ from: day, to: addDays(day, 1) })

/** Returns the day, week, month or year that is `count` units after the current one. Weeks begin on Monday. */
function unitOf(today: Day, unit: string, count: number): Days {
  if (unit === 'day') return oneDay(addDays(today, count))
  if (unit === 'week') {
    const from = addDays(today, count * DAYS_OF_WEEK - daysSinceMonday(today))
    return { from, to: addDays(from, DAYS_OF_WEEK) }
  }
  if (unit === 'month') return { from: addMonths(today, count), to: addMonths(today, count + 1) }
  const year = today.year + count
  return { from: { year, month: 1, day: 1 }, to: { year: year + 1, month: 1, day: 1 } }
}

function backFrom(today: Day, unit: string, count: number): Day {
  if (unit === 'week') return addDays(today, -count * DAYS_OF_WEEK)
  return addMonths(today, unit === 'month' ? -count : -count * 12)
}

function numberOf(count: string): number {
  if (/^\d/u.test(count)) return Number(count)
  if (count === 'a' || count === 'an') return 1
  if (count === 'a couple of') return 2
  return count === 'a few' ? FEW : NUMBERS.indexOf(count)
}
