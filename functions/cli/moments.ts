import { InvalidArgumentError } from 'commander'

const HOUR_MS = 3_600_000
const UNITS_MS: { readonly [unit: string]: number } = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS }
const SPAN = /^(\d{1,5})([hdw])$/
const DAY = /^\d{4}-\d{2}-\d{2}$/
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?$/

/** Reads `--since`: a date or a time in the API's format, `today`, `yesterday`, or a span before now such as `7d`. */
export const readSince = (text: string): string => readMoment(text, new Date(), 0)

/** Reads `--until`, in the same formats as `--since`. A day means its last millisecond. */
export const readUntil = (text: string): string => readMoment(text, new Date(), 1)

/** Reads a date or a time. `later`: 0 for the start of a named day, 1 for its end. */
export function readMoment(text: string, now: Date, later: 0 | 1): string {
  const [, count, unit = ''] = SPAN.exec(text) ?? []
  if (count !== undefined) return new Date(now.getTime() - Number(count) * (UNITS_MS[unit] ?? 0)).toISOString()
  if (text === 'today' || text === 'yesterday') {
    const back = text === 'today' ? 0 : 1
    const bound = new Date(now.getFullYear(), now.getMonth(), now.getDate() - back + later)
    return new Date(bound.getTime() - later).toISOString()
  }
  if (DAY.test(text) && isDate(text)) return text
  // A time without a zone is UTC, as in the API.
  const time = /(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text}Z`
  if (TIME.test(text) && isDate(time)) return new Date(time).toISOString()
  throw new InvalidArgumentError(
    'It must be a date such as 2026-11-22, a time such as 2026-11-22T09:30:00Z, today, yesterday, or a span such as 7d or 12h.',
  )
}

/** Rejects dates such as 30 February, which JavaScript moves into March. */
function isDate(text: string): boolean {
  const day = text.slice(0, 'YYYY-MM-DD'.length)
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && !Number.isNaN(Date.parse(text))
}
