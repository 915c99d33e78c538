import { PRIVATE_KEY_BEGINS, PRIVATE_KEY_ENDS } from '../../domain/keys/key-forms.ts'

/** Where something begins in a text, and where what follows it does, in UTF-16 units. */
export type Range = readonly [start: number, end: number]

/** Characters (UTF-16 units) of the longest secret, but for a private key. */
export const MAX_SECRET_CHARACTERS = 10_000

const BEGINS = new RegExp(PRIVATE_KEY_BEGINS, 'gu')
const ENDS = new RegExp(PRIVATE_KEY_ENDS, 'u')
/** What stands between, as far as the longest secret goes: base64 in lines, with headers, or as tools quote it. */
const NO_KEY = /[^A-Za-z0-9+/=\s:,.()-]/u
/** What a key has soon, and a text that only speaks of keys has not. */
const LINE = /[A-Za-z0-9+/]{30}/u
const SOON = 400

const CODE = '[A-Za-z0-9+/]'
/** What stands between two lines, also in JSON and in addresses. */
const LINE_END = String.raw`(?:\s|\\{1,8}[nr]|%0[AaDd]){1,40}`
const LAST_LINE = `${CODE}{0,100}={0,2}(?:${LINE_END}=${CODE}{4})?(?:${LINE_END})?${PRIVATE_KEY_ENDS}`
/** The text may end anywhere. */
const CUT_LINE = String.raw`(?:${LINE_END})?[A-Za-z0-9+/=\\%]{0,100}$`
const GOES_ON = new RegExp(
  `${CODE}*={0,2}(?:${LINE_END}${CODE}{40,}={0,2})*(?:${CUT_LINE}|(?:${LINE_END})?${LAST_LINE})?`,
  'uy',
)
const TAIL = new RegExp(`(?<!${CODE})(?:${CODE}{40,}${LINE_END}){1,200}${LAST_LINE}`, 'gu')

/** Private keys, also those whose end or beginning is not in the text. */
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
  return other === null ? keyGoesOnTo(text, from + near.length) : from + other.index
}

/** Where the lines of a key end, or of something else in base64, within which a place is. */
export function keyGoesOnTo(text: string, place: number): number {
  GOES_ON.lastIndex = place
  return place + (GOES_ON.exec(text)?.[0].length ?? 0)
}
