/** Nested brackets; deeper JSON has no honest use and would exhaust the stack later on. */
const MAX_DEPTH = 64
/**
 * Values of one JSON text, nested ones included. Whatever they are, to parse them takes some 50 ms, in which nothing else
 * happens; recorded conversations have a fifth of them in 4 MB.
 */
export const MAX_JSON_VALUES = 100_000

export interface JsonSize {
  /** How deep brackets nest, not counting those in strings. */
  readonly depth: number
  /** Objects, lists, strings, numbers and words, the text's own value included; names of properties do not count. */
  readonly values: number
}

/** The size of a JSON text as far as it is within the limits: the count ends where it exceeds one. */
export function jsonSize(text: string): JsonSize {
  let depth = 0
  let deepest = 0
  let values = 1
  /** What was read last is an opening bracket. */
  let isEmpty = false
  for (let index = 0; index < text.length && values <= MAX_JSON_VALUES && deepest <= MAX_DEPTH; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) continue
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === 0x2c) values++
    else if (code === 0x7d || code === 0x5d) {
      depth--
      if (isEmpty) values--
    }
    isEmpty = code === 0x7b || code === 0x5b
    if (!isEmpty) continue
    deepest = Math.max(deepest, ++depth)
    values++
  }
  return { depth: deepest, values }
}

/** Why a text is not taken for JSON of a bearable size, to follow its name; undefined if it is. */
export function jsonFault(text: string): string | undefined {
  const { depth, values } = jsonSize(text)
  if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} deep`
  if (values > MAX_JSON_VALUES) return `has more than ${MAX_JSON_VALUES.toLocaleString('en')} values`
  return undefined
}

export const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Where the string that begins here ends. Jumps from quote to quote: a string of megabytes takes no time. */
export function endOfString(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
  return text.length
}
