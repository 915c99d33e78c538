/** A day of the calendar, without a time zone. Months count from 1. */
export interface Day {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** Days from `from` to the day before `to`. An absent end is open. */
export interface Days {
  readonly from?: Day
  readonly to?: Day
}

const DAY_MS = 86_400_000

const utc = ({ year, month, day }: Day): number => Date.UTC(year, month - 1, day)
const dayOf = (time: number): Day => {
  const date = new Date(time)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** Returns the day that is `count` days later. */
export const addDays = (day: Day, count: number): Day => dayOf(utc(day) + count * DAY_MS)

/** Returns the first day of the month that is `count` months later. */
export const addMonths = ({ year, month }: Day, count: number): Day => dayOf(Date.UTC(year, month - 1 + count, 1))

/** Returns the number of days since the last Monday. */
export const daysSinceMonday = (day: Day): number => (new Date(utc(day)).getUTCDay() + 6) % 7

export const compareDays = (left: Day, right: Day): number => utc(left) - utc(right)

/** Whether the calendar has the day. */
export const isDay = (day: Day): boolean => compareDays(dayOf(utc(day)), day) === 0 && dayOf(utc(day)).day === day.day

/** Whether the platform knows the IANA time zone. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** Returns the day at a time, in a zone. */
export const dayAt = (time: number, timeZone: string): Day => dayOf(time + offsetAt(time, timeZone))

/** Returns the first millisecond of a day in a zone. */
export function startOfDay(day: Day, timeZone: string): number {
  const midnight = utc(day)
  // The offset at midnight equals the offset shortly before or after, unless clocks change at midnight.
  const near = midnight - offsetAt(midnight, timeZone)
  return midnight - offsetAt(near, timeZone)
}

/** Returns the milliseconds by which a zone's clocks are ahead of UTC. */
function offsetAt(time: number, timeZone: string): number {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(time)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const [year = 0, month = 1, day = 1, hour, minute, second] = FIELDS.map((field) => parts.get(field))
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1_000) * 1_000
}

const FIELDS = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const

/** Formats of recent zones. The platform takes a tenth of a millisecond to create one. */
const formats = new Map<string, Intl.DateTimeFormat>()
const MAX_FORMATS = 50

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const made = new Intl.DateTimeFormat('en-US-u-ca-gregory', {
    timeZone,
    hourCycle: 'h23',
    second: 'numeric',
    ...fields,
  })
  if (formats.size >= MAX_FORMATS) formats.clear()
  formats.set(timeZone, made)
  return made
}
