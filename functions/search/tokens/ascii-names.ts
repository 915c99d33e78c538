import { DIGIT, IN_WORD, KINDS, LOWER, UPPER } from './ascii-runs.ts'
import { MAX_PARTS, MAX_WHOLE, MAX_WORD } from './tokens.ts'

/** What a run says. */
export interface Names {
  readonly words: string[]
  /** Other names for its place, each once. */
  readonly extra: string[]
  /** The words, and those of the other names that have letters and digits alone. */
  readonly simple: string[]
}

/** What the character at a place is; 0 behind the end. */
const kindAt = (text: string, at: number): number => KINDS[text.charCodeAt(at)] ?? 0

/** Returns what `readRun` of `tokens.ts` says of a run of ASCII, several times as fast. */
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

/** Few names are looked through faster than a set is made. */
function addOnce(extra: string[], name: string): boolean {
  if (extra.includes(name)) return false
  extra.push(name)
  return true
}

function addSimple({ extra, simple }: Names, name: string): void {
  if (addOnce(extra, name)) simple.push(name)
}

/** A word, or the pieces of one that is too long. */
function addWords({ words, simple }: Names, small: string, start: number, end: number): void {
  for (let at = start; at < end; at += MAX_WORD) {
    const word = small.slice(at, Math.min(end, at + MAX_WORD))
    words.push(word)
    simple.push(word)
  }
}

/** A place in a text, and what characters it has. */
interface Place {
  readonly start: number
  readonly end: number
  readonly kinds: number
}

/** Adds the parts of a word at its camelCase and acronym borders, and the halves of those that are numbered. */
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

/** Whether a part begins here: at `aB` and `ABc`. */
function isBorder(run: string, at: number): boolean {
  if (kindAt(run, at) !== UPPER) return false
  const before = kindAt(run, at - 1)
  return before === LOWER || kindAt(run, at + 1) === LOWER
}

/** Adds the letters and the digits of a part that has one after the other. */
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
/** What joiners do: those of paths and addresses end a segment, those of numbers and sums end an identifier in one. */
const JOINS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if ('/:@#'.includes(character)) return SLASH
  if ('-_'.includes(character)) return DASH
  return '.+~'.includes(character) ? DOT : 0
})
const joinAt = (text: string, at: number): number => JOINS[text.charCodeAt(at)] ?? 0
const DASHES = /[-_]+/gu

/** Adds identifiers that are joined inside a run, whole and as one word. */
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
