/** A text whose escapes were replaced once, with the original position of each UTF-16 unit. */
export interface UnescapedText {
  readonly text: string
  original(unit: number): number
}

/**
 * Matches escapes of JSON strings, percent escapes of ASCII characters in addresses, and terminal sequences for
 * colours. A terminal sequence represents no character.
 */
const TERMINAL = String.fromCodePoint(27)
const ESCAPE = new RegExp(
  String.raw`\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))|%([2-7][0-9a-fA-F]|0[9aAdD])|${TERMINAL}\[[0-9;]{0,20}[A-Za-z]`,
  'gu',
)
const MAY_BE_ESCAPED = new RegExp(String.raw`\\|%[02-7][0-9a-fA-F]|${TERMINAL}`, 'u')
const MEANING: { readonly [letter: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Whether a text may contain an escape. False means that it certainly contains none. */
export const mayBeEscaped = (text: string): boolean => MAY_BE_ESCAPED.test(text)

/** Replaces escapes of JSON strings, addresses and terminals in the text; undefined if there are none. */
export function unescapeOnce(text: string): UnescapedText | undefined {
  if (!mayBeEscaped(text)) return undefined
  const pieces: string[] = []
  /** Two numbers for each replaced escape: the position after it in the new text, and in the original. */
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

/** Returns the index of the last number that is at most `most`; -1 if every number is greater. The numbers ascend. */
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
