import type { Json } from '../../functions/client/api-types.ts'

/** Longer texts are not parsed: they are shown as they are. */
const MAX_CHARACTERS = 1_000_000
/** Objects and lists in each other; each is a component within a component. */
const MAX_DEPTH = 64

/** A number as it is written, where a number of JavaScript would be another one. */
export interface RawNumber {
  readonly rawJSON: string
}
/** Of newer browsers; TypeScript does not know them yet. */
const exact = JSON as unknown as {
  readonly rawJSON?: (text: string) => RawNumber
  readonly isRawJSON: (value: unknown) => value is RawNumber
}

export const isRawNumber = (value: unknown): value is RawNumber => exact.isRawJSON(value)

/**
 * The value of a text that is JSON; undefined if the text is to be shown as it is. Objects and lists only: a lone number or string
 * reads better as text.
 */
export function parseValue(text: string): Json | undefined {
  const { rawJSON } = exact
  if (!/^\s*[[{]/.test(text) || text.length > MAX_CHARACTERS || rawJSON === undefined) return undefined
  const asWritten = (_name: string, value: unknown, { source }: { readonly source?: string }): unknown =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value
  try {
    const value = JSON.parse(text, asWritten as (name: string, value: unknown) => unknown) as Json
    return isWithin(value, MAX_DEPTH) ? value : undefined
  } catch {
    return undefined // It is shown as text.
  }
}

const isWithin = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((entry) => isWithin(entry, depth - 1)))
