/** One text of a write. */
export interface PlannedText {
  /** Bytes of UTF-8. */
  readonly bytes: number
  /** The most that its item has room for. */
  readonly limit: number
}

/**
 * Bytes of all texts of one atomic write. DynamoDB takes 4 MB, and counts rows that are changed with what they hold already:
 * a round's calls, and then their results.
 */
export const WRITE_LIMIT = 1_500_000

/**
 * Which texts go to the output store, so that every item stays below 400 KB and the whole write below 4 MB: those above their
 * own limit, then the largest until the rest fits.
 */
export function planSpill(texts: readonly PlannedText[]): boolean[] {
  const spilled = texts.map(({ bytes, limit }) => bytes > limit)
  let total = texts.reduce((sum, { bytes }, place) => (spilled[place] === true ? sum : sum + bytes), 0)
  const byBytes = texts.map((text, place) => ({ place, bytes: text.bytes })).toSorted((a, b) => b.bytes - a.bytes)
  for (const { place, bytes } of byBytes) {
    if (total <= WRITE_LIMIT) break
    if (spilled[place] === true) continue
    spilled[place] = true
    total -= bytes
  }
  return spilled
}
