import { DIGIT, IN_WORD, KINDS, LOWER, UPPER } from './ascii-runs.ts'
import { MAX_PARTS, MAX_WHOLE, MAX_WORD } from './tokens.ts'

/** The tokens of a run. */
export interface Names {
  readonly words: string[]
  /** Alternative tokens for the positions of the words, without duplicates. */
  readonly extra: string[]
  /** The words, and the alternative tokens that consist of letters and digits only. */
  readonly simple: string[]
}

/** Returns the kind of the character at an index; 0 after the end. */
const kindAt = (text: string, at: number): number => KINDS[text.charCodeAt(at)] ?? 0

/**
 * Returns the tokens of an ASCII run. The result equals that of `readRun` in `tokens.ts`, but this function takes only
 * a fraction of the time.
 */
export function readAsciiRun(run: string): Names {
  const names: Names = { words: [], extra: [], simple: [] }
  const small = run.toLowerCase()
  let pieces = 0
  for (let start = 0; start < run.length;) {
    let [end, kinds] = [start, 0]
    for (let kind = kindAt(run, start); (kind & IN_WORD) !== 0; kind = kindAt(run, end)) {
      kinds |= kind
      end++
    }
    addWords(names, small, start, end)
    if (end - start <= MAX_WORD) addInner(names, run, small, { start, end, kinds })
    pieces++
    start = end
    while (start < run.length && (kindAt(run, start) & IN_WORD) === 0) start++
  }
  if (pieces === 1) return names
  if (run.length <= MAX_WHOLE) addOnce(names.extra, small)
  addSegments(names, small)
  return names
}

/** Adds a name unless it is already there. For a small number of names, an array is faster than a set. */
function addOnce(extra: string[], name: string): boolean {
  if (extra.includes(name)) return false
  extra.push(name)
  return true
}

function addSimple({ extra, simple }: Names, name: string): void {
  if (addOnce(extra, name)) simple.push(name)
}

/** Adds a word, or the pieces of a word that is too long. */
function addWords({ words, simple }: Names, small: string, start: number, end: number): void {
  for (let at = start; at < end; at += MAX_WORD) {
    const word = small.slice(at, Math.min(end, at + MAX_WORD))
    words.push(word)
    simple.push(word)
  }
}

/** A range in a text, and the kinds of its characters. */
interface Place {
  readonly start: number
  readonly end: number
  readonly kinds: number
}

/** Adds the parts of a word at its camelCase and acronym borders, and the halves of parts such as `sha256`. */
function addInner(names: Names, run: string, small: string, { start, end, kinds }: Place): void {
  if ((kinds & (kinds - 1)) === 0) return
  if ((kinds & UPPER) === 0) return addHalves(names, small, start, end)
  const ends: number[] = []
  for (let at = start + 1; at < end; at++) if (isBorder(run, at)) ends.push(at)
  if (ends.length >= MAX_PARTS) return
  ends.push(end)
  if (ends.length > 1)
    for (const [place, at] of ends.entries()) addSimple(names, small.slice(ends[place - 1] ?? start, at))
  if ((kinds & DIGIT) === 0) return
  for (const [place, at] of ends.entries()) addHalves(names, small, ends[place - 1] ?? start, at)
}

/** Whether a part begins at this index, as in `aB` and `ABc`. */
function isBorder(run: string, at: number): boolean {
  if (kindAt(run, at) !== UPPER) return false
  const before = kindAt(run, at - 1)
  return before === LOWER || kindAt(run, at + 1) === LOWER
}

/** Adds the letters and the digits of a part separately, if the part has exactly one group of each. */
function addHalves(names: Names, small: string, start: number, end: number): void {
  const first = kindAt(small, start)
  let border = start + 1
  while (border < end && kindAt(small, border) === first) border++
  if (border >= end) return
  for (let at = border + 1; at < end; at++) if (kindAt(small, at) === first) return
  addSimple(names, small.slice(start, border))
  addSimple(names, small.slice(border, end))
}

const SLASH = 1
const DASH = 2
const DOT = 4
/**
 * Kind of each joiner: `SLASH` ends a segment, as in paths and addresses; `DOT` ends an identifier within a segment.
 */
const JOINS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if ('/:@#'.includes(character)) return SLASH
  if ('-_'.includes(character)) return DASH
  return '.+~'.includes(character) ? DOT : 0
})
const joinAt = (text: string, at: number): number => JOINS[text.charCodeAt(at)] ?? 0
const DASHES = /[-_]+/gu

/** Adds each identifier inside a run, once as it is and once joined to one word. */
function addSegments(names: Names, small: string): void {
  for (let start = 0; start < small.length;) {
    let [end, joins] = [start, 0]
    for (; end < small.length && joinAt(small, end) !== SLASH; end++) joins |= joinAt(small, end)
    if (joins !== 0 && end - start <= MAX_WHOLE) {
      addOnce(names.extra, small.slice(start, end))
      if ((joins & DASH) !== 0) addIdentifiers(names, small, start, end)
    }
    start = end + 1
  }
}

function addIdentifiers(names: Names, small: string, start: number, end: number): void {
  for (let at = start; at < end;) {
    let [to, joins] = [at, 0]
    for (; to < end && joinAt(small, to) !== DOT; to++) joins |= joinAt(small, to)
    if (joins !== 0) addSimple(names, small.slice(at, to).replaceAll(DASHES, ''))
    at = to + 1
  }
}
