import { definedFields } from '../../domain/defined-fields.ts'
import { compareDays, startOfDay, type Day } from './calendar.ts'
import type { DateMention } from './date-mention.ts'

/** A time that a query names, in milliseconds since 1970, inclusive. An absent end is open. */
export interface Period {
  readonly since?: number
  readonly until?: number
  /** Whether the query names single days, and not a month or more. */
  readonly isShort: boolean
}

const DAY_MS = 86_400_000
/**
 * People mention an event before and after it happens. So an entry also counts for a period if it is at most this many
 * days before or after the period.
 */
const AROUND_SHORT = { before: 0.5, after: 8 }
const AROUND_LONG = { before: 1, after: 10 }
const SHORT_DAYS = 14

/** Returns the shortest period that includes all dates of a query; undefined without dates. */
export function periodOf(dates: readonly DateMention[], timeZone: string): Period | undefined {
  const starts = dates.flatMap(({ days: { from } }) => from ?? []).toSorted(compareDays)
  const ends = dates.flatMap(({ days: { to } }) => to ?? []).toSorted(compareDays)
  if (dates.length === 0) return undefined
  const [since, until] = [starts[0], ends.at(-1)].map((day: Day | undefined) => day && startOfDay(day, timeZone))
  const isShort = since === undefined || until === undefined || until - since <= SHORT_DAYS * DAY_MS
  return { ...definedFields({ since, until: until === undefined ? undefined : until - 1 }), isShort }
}

/** Closeness of a time shortly before or after the period. */
const AROUND = 0.6

/** Returns how well a time fits the period: 1 within it, less shortly before or after it, and 0 elsewhere. */
export function closeness(period: Period, time: number): number {
  const { since = -Infinity, until = Infinity } = period
  if (since <= time && time <= until) return 1
  const around = timesAround(period)
  return around.since <= time && time <= around.until ? AROUND : 0
}

/** Returns the range of times in which entries count for the period: from shortly before it to some days after it. */
export function timesAround({ since, until, isShort }: Period): { readonly since: number; readonly until: number } {
  const { before, after } = isShort ? AROUND_SHORT : AROUND_LONG
  return { since: (since ?? -Infinity) - before * DAY_MS, until: (until ?? Infinity) + after * DAY_MS }
}
