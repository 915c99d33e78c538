import { DIGIT, KINDS, LOWER } from '../tokens/ascii-runs.ts'
import { fold, lower } from '../tokens/fold-text.ts'
import { meaningful, type SoughtText, type PlannedTerm } from './plan.ts'

/** The position of a match in UTF-16 units of the folded text, and its quality (0–1). */
export interface Match {
  readonly start: number
  readonly end: number
  readonly quality: number
}

/** A text prepared for term matching: the folded text, and its lower-case form, which has an equal length. */
export interface ReadableText {
  readonly folded: string
  readonly lowered: string
}

/**
 * Quality of a match by its borders. `WHOLE`: the match begins and ends at the borders of words. `AT_JOINER` and
 * `AT_INNER_BORDER`: an end is at a joiner, or at a border inside a word. `ONLY_LEFT` and `ONLY_RIGHT`: only one end is
 * at a border. `INSIDE`: neither end is at a border.
 */
const WHOLE = 1
const AT_JOINER = 0.97
const AT_INNER_BORDER = 0.9
const ONLY_LEFT = 0.55
const ONLY_RIGHT = 0.4
const INSIDE = 0.3
/** Maximum number of matches of one term in a text. For a frequent term, the first matches are enough. */
const MAX_PLACES = 24
/** Quality of a compound whose words are not adjacent. */
const SCATTERED = 0.5
const BETWEEN_PARTS = String.raw`[-_./:@+#~\s]{0,2}`
const ALNUM = /[\p{L}\p{N}]/u
const JOINER = /[-_./:@+#~]/u

/** Folds a text once for all terms. */
export const readable = (text: string): ReadableText => readableAs(fold(text))

/** Prepares a text that is already folded. */
export const readableAs = (folded: string): ReadableText => ({ folded, lowered: lower(folded) })

/** Returns the matches of the term in the text, in order. */
export function matchesOf(planned: PlannedTerm, text: ReadableText): Match[] {
  const found = planned.soughtTexts.flatMap((sought) => places(sought, text))
  if (planned.parts.length > 1) found.push(...joinedPlaces(planned, text))
  if (found.length === 0 && planned.parts.length > 1) return scattered(planned, text)
  return inOrder(found)
}

/** Returns the best matches, ordered by position. */
function inOrder(found: readonly Match[]): Match[] {
  const byPlace = (left: Match, right: Match): number => left.start - right.start || right.quality - left.quality
  if (found.length <= MAX_PLACES) return found.toSorted(byPlace)
  const best = found.toSorted((left, right) => right.quality - left.quality || left.start - right.start)
  return best.slice(0, MAX_PLACES).toSorted(byPlace)
}

function places({ text: sought, weight }: SoughtText, text: ReadableText): Match[] {
  const found: Match[] = []
  if (sought === '') return found
  for (let from = 0; found.length < MAX_PLACES;) {
    const start = text.lowered.indexOf(sought, from)
    if (start < 0) break
    const end = start + sought.length
    const border = borderQuality(text.folded, start, end)
    // An inflected form counts only as a whole word: `rated` must not match `rate` inside `separated`.
    if (weight === 1 || border >= AT_INNER_BORDER) found.push({ start, end, quality: weight * border })
    from = end
  }
  return found
}

/** Finds compounds in any joined form: `payment_method`, `paymentMethod` and `payment method`. */
function joinedPlaces(planned: PlannedTerm, text: ReadableText): Match[] {
  const words = planned.term.words
  if (words.length > 8 || !words.every((word) => text.lowered.includes(word))) return []
  const pattern = new RegExp(words.map(escape).join(BETWEEN_PARTS), 'gu')
  return Array.from(text.lowered.matchAll(pattern).take(MAX_PLACES), (match) => {
    const end = match.index + match[0].length
    return { start: match.index, end, quality: 0.9 * borderQuality(text.folded, match.index, end) }
  })
}

function scattered(planned: PlannedTerm, text: ReadableText): Match[] {
  const parts = meaningful(planned.parts).map(({ soughtTexts }) =>
    soughtTexts.flatMap((sought) => places(sought, text)),
  )
  const present = parts.filter((part) => part.length > 0).length
  const share = (SCATTERED * present) / parts.length
  const wanted = present === parts.length ? 1 : 0.5
  return inOrder(parts.flat().map((match) => ({ ...match, quality: match.quality * share * wanted })))
}

function borderQuality(text: string, start: number, end: number): number {
  const left = borderAt(text, start, -1)
  const right = borderAt(text, end, 1)
  if (left > 0 && right > 0) return Math.min(left, right)
  if (left > 0) return ONLY_LEFT
  return right > 0 ? ONLY_RIGHT : INSIDE
}

/** Returns the quality of the border at an end of a match; 0 if none. `direction`: 1 for the end, -1 for the start. */
function borderAt(text: string, place: number, direction: 1 | -1): number {
  if (isInside(text, place)) return 0
  const outer = characterAt(text, direction === 1 ? place : place - 1, direction)
  if (outer === '' || (!ALNUM.test(outer) && !JOINER.test(outer))) return WHOLE
  if (JOINER.test(outer)) {
    const beyond = characterAt(text, direction === 1 ? place + 1 : place - 2, direction)
    return ALNUM.test(beyond) ? AT_JOINER : WHOLE
  }
  const inner = characterAt(text, direction === 1 ? place - 1 : place, direction === 1 ? -1 : 1)
  const [before, after] = direction === 1 ? [inner, outer] : [outer, inner]
  if (/\p{Lo}/u.test(inner) || /\p{Lo}/u.test(outer)) return AT_INNER_BORDER
  if (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(after)) return AT_INNER_BORDER
  if (/\p{N}/u.test(before) !== /\p{N}/u.test(after)) return AT_INNER_BORDER
  return acronymBorder(text, place, before, after) ? AT_INNER_BORDER : 0
}

/**
 * Whether lower-case letters, or digits, are on both sides of `place`. This is true of most positions, and needs no
 * regular expression.
 */
function isInside(text: string, place: number): boolean {
  const kind = KINDS[text.charCodeAt(place)]
  return (kind === LOWER || kind === DIGIT) && kind === KINDS[text.charCodeAt(place - 1)]
}

/** Whether the border is between an acronym and a word, as between `ABC` and `Word` in `ABCWord`. */
function acronymBorder(text: string, place: number, before: string, after: string): boolean {
  return /\p{Lu}/u.test(before) && /\p{Lu}/u.test(after) && /\p{Ll}/u.test(text.charAt(place + 1))
}

/** Returns the whole character at a UTF-16 unit, even if the unit is half of a surrogate pair. */
function characterAt(text: string, unit: number, direction: 1 | -1): string {
  if (unit < 0 || unit >= text.length) return ''
  const code = text.charCodeAt(unit)
  if (direction === -1 && code >= 0xdc00 && code <= 0xdfff && unit > 0) return text.slice(unit - 1, unit + 1)
  return String.fromCodePoint(text.codePointAt(unit) ?? 0)
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`)
