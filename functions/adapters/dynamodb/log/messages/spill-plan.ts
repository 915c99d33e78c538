/** A text of a write. */
export interface PlannedText {
  /** Length in UTF-8 bytes. */
  readonly bytes: number
  /** Maximum length of a text that is stored in its row's item, in bytes. */
  readonly limit: number
}

/**
 * Maximum bytes of all texts in one atomic write. DynamoDB accepts 4 MB. It also counts the existing content of a
 * changed row: when results are stored, their calls count too.
 */
export const WRITE_LIMIT = 1_500_000

/**
 * Decides which texts go to the output store, so that every item is below 400 KB and the whole write below 4 MB. First,
 * it selects the texts above their own limits. Then it selects the largest remaining texts until the others fit.
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
