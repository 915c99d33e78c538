/** A text with its escapes undone once, and the origin of each of its UTF-16 units. */
export interface UnescapedText {
  readonly text: string
  original(unit: number): number
}

/** Those of JSON strings, those of addresses for ASCII characters, and a terminal's for colours, which mean no character. */
const TERMINAL = String.fromCodePoint(27)
const ESCAPE = new RegExp(
  String.raw`\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))|%([2-7][0-9a-fA-F]|0[9aAdD])|${TERMINAL}\[[0-9;]{0,20}[A-Za-z]`,
  'gu',
)
const MAY_BE_ESCAPED = new RegExp(String.raw`\\|%[02-7][0-9a-fA-F]|${TERMINAL}`, 'u')
const MEANING: { readonly [letter: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Whether a text may hold an escape; false means that it holds none. */
export const mayBeEscaped = (text: string): boolean => MAY_BE_ESCAPED.test(text)

/** Undoes the escapes of a JSON string, of an address and of a terminal in the text; undefined if there are none. */
export function unescapeOnce(text: string): UnescapedText | undefined {
  if (!mayBeEscaped(text)) return undefined
  const pieces: string[] = []
  /** The place of each unescaped unit, and the place of what follows it in the original. */
  const units: number[] = []
  const following: number[] = []
  let place = 0
  let length = 0
  for (const { 0: escape, 1: ofString, 2: letter = '', 3: ofAddress, index } of text.matchAll(ESCAPE)) {
    const code = ofString ?? ofAddress
    const meant = code === undefined ? (MEANING[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16))
    pieces.push(text.slice(place, index), meant)
    length += index - place + meant.length
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
