/** Maximum depth of nested brackets. Deeper JSON has no legitimate use and would exhaust the stack later. */
const MAX_DEPTH = 64
/**
 * Maximum number of values in one JSON text, including nested ones. Parsing this many blocks the event loop for about
 * 50 ms. In recorded conversations, 4 MB of JSON have a fifth of this number.
 */
export const MAX_JSON_VALUES = 100_000

export interface JsonSize {
  /** Depth of nested brackets, without those in strings. */
  readonly depth: number
  /**
   * Number of objects, lists, strings, numbers and literals, including the text's own value. Property names do not
   * count.
   */
  readonly values: number
}

/** Returns the size of a JSON text. Counting stops when a limit is exceeded. */
export function jsonSize(text: string): JsonSize {
  let depth = 0
  let deepest = 0
  let values = 1
  /** Whether the last character was an opening bracket. */
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

/**
 * Describes the limit that a JSON text exceeds, as the end of a sentence that begins with the text's name. Undefined if
 * the text exceeds none.
 */
export function jsonFault(text: string): string | undefined {
  const { depth, values } = jsonSize(text)
  if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} deep`
  if (values > MAX_JSON_VALUES) return `has more than ${MAX_JSON_VALUES.toLocaleString('en')} values`
  return undefined
}

export const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Returns the end of the string that begins here. It jumps from quote to quote, so that a string of megabytes takes
 * little time.
 */
export function endOfString(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
  return text.length
}
