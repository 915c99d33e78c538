/** Formats of sizes and counts. */
const NUMBER = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const MINUTE = 60_000

export const count = (value: number): string => NUMBER.format(value)
export const compact = (value: number): string => COMPACT.format(value)
/** Formats a number of tokens; null if the provider has not reported the number. */
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

export const dollars = (value: number): string =>
  value > 0 && value < 0.01 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`
