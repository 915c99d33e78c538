/** How times, sizes and counts read. */
const NUMBER = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const YEAR = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' })
const MONTH = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const MINUTE = 60_000

export const count = (value: number): string => NUMBER.format(value)
export const compact = (value: number): string => COMPACT.format(value)
/** Of tokens; the provider may not have said how many. */
export const tokens = (value: number | null): string => (value === null ? 'unknown' : COMPACT.format(value))
export const plural = (value: number, word: string): string =>
  `${NUMBER.format(value)} ${word}${value === 1 ? '' : 's'}`

export function size(bytes: number): string {
  if (bytes < 1_000) return plural(bytes, 'byte')
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < MINUTE) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / 1_000)} s`
}

/** Short: the time of day for today, else the day. */
export function moment(time: string, now = new Date()): string {
  const date = new Date(time)
  if (date.toDateString() === now.toDateString()) return CLOCK.format(date)
  return (date.getFullYear() === now.getFullYear() ? DAY : YEAR).format(date)
}

/** Of a month such as 2026-11. */
export const month = (time: string): string => MONTH.format(new Date(time))
export const whole = (time: string): string => `${YEAR.format(new Date(time))}, ${CLOCK.format(new Date(time))}`
export const dollars = (value: number): string =>
  value > 0 && value < 0.01 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`
