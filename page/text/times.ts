/** Formats times in the locale and the time zone of the reader. */
export interface Times {
  /** Time of day. */
  clock(time: string): string
  /** Short form: the time of day for today, otherwise the date. */
  timeOrDate(time: string): string
  /** Date and time of day. */
  whole(time: string): string
  /** Heading of a day in a list: today and yesterday by name, other days by date. */
  day(time: string): string
  /** Date in UTC, such as 2026-11-26. `shortUtcDay`: a short form for the axis of a chart. */
  utcDay(date: string): string
  shortUtcDay(date: string): string
  /** Month of a time such as 2026-11. */
  month(time: string): string
}

/** Creates the formats for a locale. `locale`: undefined for the browser's locale. */
export function createTimes(locale?: string, now: () => Date = () => new Date()): Times {
  const format = (options: Intl.DateTimeFormatOptions): ((time: string) => string) => {
    const { format: formatted } = new Intl.DateTimeFormat(locale, options)
    return (time) => formatted(new Date(time))
  }
  const clock = format({ timeStyle: 'short' })
  const shortDay = format({ day: 'numeric', month: 'short' })
  const shortDayOfYear = format({ day: 'numeric', month: 'short', year: 'numeric' })
  const weekday = format({ weekday: 'long', day: 'numeric', month: 'long' })
  const longDay = format({ day: 'numeric', month: 'long', year: 'numeric' })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  const isThisYear = (time: string): boolean => new Date(time).getFullYear() === now().getFullYear()

  return {
    clock,
    timeOrDate: (time) =>
      daysAgo(time, now()) === 0 ? clock(time) : (isThisYear(time) ? shortDay : shortDayOfYear)(time),
    whole: format({ dateStyle: 'medium', timeStyle: 'short' }),
    day(time) {
      const ago = daysAgo(time, now())
      if (ago === 0 || ago === 1) return capitalised(relative.format(-ago, 'day'))
      return (isThisYear(time) ? weekday : longDay)(time)
    },
    utcDay: format({ dateStyle: 'medium', timeZone: 'UTC' }),
    shortUtcDay: format({ day: 'numeric', month: 'short', timeZone: 'UTC' }),
    month: format({ month: 'long', year: 'numeric', timeZone: 'UTC' }),
  }
}

/**
 * Returns the number of midnights since a time, in the reader's time zone. It is rounded, because a day with a change
 * of clocks has 23 or 25 hours.
 */
const daysAgo = (time: string, now: Date): number => Math.round((midnight(now) - midnight(new Date(time))) / 86_400_000)

const midnight = (date: Date): number => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()

const capitalised = (text: string): string => text.slice(0, 1).toLocaleUpperCase() + text.slice(1)

export const { clock, timeOrDate, whole, day, utcDay, shortUtcDay, month } = createTimes()
