import type { Json } from '../../functions/client/api-types.ts'

/** Maximum length of a parsed text. Longer texts are shown as text. */
const MAX_CHARACTERS = 1_000_000
/** Maximum nesting of objects and lists. Each level is rendered as a nested component. */
const MAX_DEPTH = 64

/** A number as it was written. Used if a JavaScript number cannot represent it exactly. */
export interface RawNumber {
  readonly rawJSON: string
}
/** Functions of newer browsers that TypeScript does not declare yet. */
const exact = JSON as unknown as {
  readonly rawJSON?: (text: string) => RawNumber
  readonly isRawJSON: (value: unknown) => value is RawNumber
}

export const isRawNumber = (value: unknown): value is RawNumber => exact.isRawJSON(value)

/**
 * Parses a text as JSON; undefined if it must be shown as text. Only objects and lists are parsed, because a single
 * number or string reads better as text.
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
    return undefined // The caller shows the text unparsed.
  }
}

const isWithin = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((entry) => isWithin(entry, depth - 1)))
