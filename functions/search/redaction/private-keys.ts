import { PRIVATE_KEY_BEGINS, PRIVATE_KEY_ENDS } from '../../domain/keys/key-forms.ts'

/** Start and exclusive end of a range in a text, in UTF-16 units. */
export type Range = readonly [start: number, end: number]

/** Maximum characters (UTF-16 units) of a secret, except a private key. */
export const MAX_SECRET_CHARACTERS = 10_000

const BEGINS = new RegExp(PRIVATE_KEY_BEGINS, 'gu')
const ENDS = new RegExp(PRIVATE_KEY_ENDS, 'u')
/**
 * Matches a character that cannot be inside a private key. A key consists of base64 lines, possibly with headers, or
 * with characters that tools add when they quote the key.
 */
const NO_KEY = /[^A-Za-z0-9+/=\s:,.()-]/u
/**
 * Matches a line of base64. A key has such a line within `SOON` characters. A text that only mentions keys has none.
 */
const LINE = /[A-Za-z0-9+/]{30}/u
const SOON = 400

const CODE = '[A-Za-z0-9+/]'
/** Matches a line break, also as an escape of JSON or of an address. */
const LINE_END = String.raw`(?:\s|\\{1,8}[nr]|%0[AaDd]){1,40}`
const LAST_LINE = `${CODE}{0,100}={0,2}(?:${LINE_END}=${CODE}{4})?(?:${LINE_END})?${PRIVATE_KEY_ENDS}`
/** Matches an incomplete last line, because the text may end anywhere. */
const CUT_LINE = String.raw`(?:${LINE_END})?[A-Za-z0-9+/=\\%]{0,100}$`
const CONTINUATION = new RegExp(
  `${CODE}*={0,2}(?:${LINE_END}${CODE}{40,}={0,2})*(?:${CUT_LINE}|(?:${LINE_END})?${LAST_LINE})?`,
  'uy',
)
const TAIL = new RegExp(`(?<!${CODE})(?:${CODE}{40,}${LINE_END}){1,200}${LAST_LINE}`, 'gu')

/** Returns the ranges of private keys, including keys whose beginning or end is missing. */
export function findPrivateKeys(text: string): Range[] {
  const found: Range[] = []
  let past = 0
  for (const { 0: line, index } of text.matchAll(BEGINS)) {
    const from = index + line.length
    if (index < past || !LINE.test(text.slice(from, from + SOON))) continue
    past = endOf(text, from)
    found.push([index, past])
  }
  if (ENDS.test(text)) for (const { 0: tail, index } of text.matchAll(TAIL)) found.push([index, index + tail.length])
  return found
}

function endOf(text: string, from: number): number {
  const near = text.slice(from, from + MAX_SECRET_CHARACTERS)
  const end = ENDS.exec(near)
  if (end !== null) return from + end.index + end[0].length
  const other = NO_KEY.exec(near)
  return other === null ? findKeyEnd(text, from + near.length) : from + other.index
}

/** Returns where the base64 lines around a position end. */
export function findKeyEnd(text: string, place: number): number {
  CONTINUATION.lastIndex = place
  return place + (CONTINUATION.exec(text)?.[0].length ?? 0)
}
