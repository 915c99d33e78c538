import { isExactNumber, type ExactNumber, type Json } from '../../domain/json.ts'
import { endOfString } from './json-size.ts'
import type { Span } from './json-spans.ts'

/**
 * Prefix of the strings that replace numbers while the text is parsed. It begins with a private-use character, which texts rarely
 * contain.
 */
const MARK = '\uE000number:'
const MAY_HAVE_MARK = /\uE000|\\u[eE]000/u
/**
 * Maximum length, in characters, of a plain number whose spelling JavaScript certainly keeps. JavaScript keeps 15
 * significant digits.
 */
const MAX_PLAIN_CHARACTERS = 15

/**
 * Parses JSON from outside without loss. A number that JavaScript would spell differently becomes an `ExactNumber`; all others
 * become numbers. So `JSON.stringify` writes every number as it was sent. Throws a SyntaxError like `JSON.parse`, and is about as
 * fast.
 */
export function readJson(text: string): unknown {
  const spans = respelledNumbers(text)
  if (spans.length === 0) return JSON.parse(text)
  // The text may contain the prefix itself. If so, a reviver is used, although it takes ten times as long.
  if (MAY_HAVE_MARK.test(text)) return JSON.parse(text, keepSpelling)
  const pieces: string[] = []
  let end = 0
  for (const { from, to } of spans) {
    pieces.push(text.slice(end, from), `"${MARK}${text.slice(from, to)}"`)
    end = to
  }
  pieces.push(text.slice(end))
  try {
    return withoutMarks(JSON.parse(pieces.join('')) as Json)
  } catch (error) {
    // The text is invalid. Parsing it unchanged throws an error that quotes the original text.
    if (error instanceof SyntaxError) return JSON.parse(text)
    throw error
  }
}

/** Whether a JSON text has numbers that JavaScript would spell otherwise. */
export const hasExactNumbers = (text: string): boolean => respelledNumbers(text).length > 0

/** Converts exact numbers to JavaScript numbers, for code that computes with them. Some are rounded. */
export function withPlainNumbers<Value>(value: Value): Value {
  if (isExactNumber(value)) return Number(value.rawJSON) as Value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: unknown) => withPlainNumbers(item)) as Value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withPlainNumbers(item)])) as Value
}

/**
 * Gives equal numbers one spelling. In the result, two numbers have the same spelling if and only if their values are equal, even
 * beyond JavaScript's precision.
 */
export function withFoldedNumbers(value: Json | undefined): Json | undefined {
  if (isExactNumber(value)) return foldedNumber(value.rawJSON)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: Json) => withFoldedNumbers(item) ?? null)
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withFoldedNumbers(item)]))
}

function foldedNumber(source: string): number | ExactNumber {
  const folded = decimal(source)
  const plain = Number(source)
  return Number.isFinite(plain) && decimal(String(plain)) === folded ? plain : JSON.rawJSON(folded)
}

/** Returns a number's significant digits and the exponent of the last one: `10.00` becomes `1e1`. */
function decimal(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/u, '')
  const significant = digits.replace(/0+$/u, '')
  if (significant === '') return '0'
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length)
  return `${sign}${significant}e${power}`
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/u

function keepSpelling(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value
}

/** Replaces the marked strings by exact numbers, in place. An explicit stack instead of recursion allows any depth. */
function withoutMarks(value: Json): Json {
  if (isMarked(value)) return JSON.rawJSON(value.slice(MARK.length))
  const unread: Json[] = [value]
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const entries = next as { [key: string]: Json }
    for (const key of Object.keys(entries)) {
      if (key.startsWith(MARK)) throw new SyntaxError('a number is no name of a property')
      const item = entries[key] ?? null
      if (isMarked(item)) entries[key] = JSON.rawJSON(item.slice(MARK.length))
      else if (typeof item === 'object') unread.push(item)
    }
  }
  return value
}

const isMarked = (value: Json): value is string => typeof value === 'string' && value.startsWith(MARK)

/** Finds the numbers of a JSON text that JavaScript would spell otherwise. Skips strings by their quotes. */
function respelledNumbers(text: string): readonly Span[] {
  const found: Span[] = []
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = endOfString(text, at) + 1
    else if (code === 0x2d || isDigit(code)) {
      const to = endOfNumber(text, at)
      if (isRespelled(text, at, to)) found.push({ from: at, to })
      at = to
    } else at++
  }
  return found
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** Returns the end of the number that begins at `from`: after its digits, signs, points and exponents. */
function endOfNumber(text: string, from: number): number {
  let to = from + 1
  for (let code = text.charCodeAt(to); isDigit(code) || isSign(code); code = text.charCodeAt(to)) to++
  return to
}

/** `+`, `-`, `.`, `E` or `e`. */
const isSign = (code: number): boolean =>
  code === 0x2b || code === 0x2d || code === 0x2e || code === 0x45 || code === 0x65

/**
 * Whether JavaScript would spell the number differently from the text. Short, plain numbers are recognized without a conversion,
 * which saves time.
 */
function isRespelled(text: string, from: number, to: number): boolean {
  if (to - from <= MAX_PLAIN_CHARACTERS && isPlain(text, from, to)) return false
  const source = text.slice(from, to)
  return String(Number(source)) !== source
}

/**
 * Whether the number is 0, or has no leading zero, no exponent, and no fraction that ends in zero. JavaScript keeps the
 * spelling of such a number if it is short.
 */
function isPlain(text: string, from: number, to: number): boolean {
  const begin = text.charCodeAt(from) === 0x2d ? from + 1 : from
  // JavaScript spells `-0` and `0.0000001` differently.
  if (text.charCodeAt(begin) === 0x30) return to - from === 1
  let hasPoint = false
  for (let at = begin; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x2e && !hasPoint) hasPoint = true
    else if (!isDigit(code)) return false
  }
  return !hasPoint || (text.charCodeAt(to - 1) !== 0x30 && text.charCodeAt(to - 1) !== 0x2e)
}
