/** A text with its JSON escapes undone once, and the origin of each of its UTF-16 units. */
export interface UnescapedText {
  readonly text: string
  original(unit: number): number
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/gu
const MEANING: { readonly [letter: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Undoes the escapes of a JSON string in the text; undefined if there are none. */
export function unescapeOnce(text: string): UnescapedText | undefined {
  if (!text.includes('\\')) return undefined
  const pieces: string[] = []
  /** The place of each unescaped unit, and the place of what follows it in the original. */
  const units: number[] = []
  const following: number[] = []
  let place = 0
  let length = 0
  for (const { 0: escape, 1: code, 2: letter = '', index } of text.matchAll(ESCAPE)) {
    const meant = code === undefined ? (MEANING[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16))
    pieces.push(text.slice(place, index), meant)
    length += index - place + 1
    place = index + escape.length
    units.push(length)
    following.push(place)
  }
  if (units.length === 0) return undefined
  pieces.push(text.slice(place))
  return {
    text: pieces.join(''),
    original(unit) {
      const before = lastAtMost(units, unit)
      if (before < 0) return unit
      return (following[before] ?? 0) + unit - (units[before] ?? 0)
    },
  }
}

/** The place of the last number that is not greater; -1 if all are. The numbers ascend. */
function lastAtMost(numbers: readonly number[], most: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] ?? 0) <= most) low = middle + 1
    else high = middle
  }
  return low - 1
}
