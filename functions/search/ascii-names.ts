import { DIGIT, IN_WORD, KINDS, LOWER, UPPER } from './ascii-runs.ts'
import { JOINERS, MAX_PARTS, MAX_WHOLE, MAX_WORD } from './tokens.ts'

/** What the character at a place is; 0 behind the end. */
const kindAt = (text: string, at: number): number => KINDS[text.charCodeAt(at)] ?? 0

/** Returns the words of a run of ASCII and adds its other names: what `readRun` of `tokens.ts` does, several times as fast. */
export function readAsciiRun(run: string, extra: Set<string>): string[] {
  const words: string[] = []
  const small = run.toLowerCase()
  let pieces = 0
  for (let start = 0; start < run.length;) {
    let end = start
    while (end < run.length && (kindAt(run, end) & IN_WORD) !== 0) end++
    addWords(small, start, end, words)
    if (end - start <= MAX_WORD) addInner(run, small, { start, end }, extra)
    pieces++
    start = end
    while (start < run.length && (kindAt(run, start) & IN_WORD) === 0) start++
  }
  if (pieces === 1) return words
  if (run.length <= MAX_WHOLE) extra.add(small)
  addSegments(small, extra)
  return words
}

/** A word, or the pieces of one that is too long. */
function addWords(small: string, start: number, end: number, words: string[]): void {
  for (let at = start; at < end; at += MAX_WORD) words.push(small.slice(at, Math.min(end, at + MAX_WORD)))
}

/** A place in a text. */
interface Place {
  readonly start: number
  readonly end: number
}

/** Adds the parts of a word at its camelCase and acronym borders, and the halves of those that are numbered. */
function addInner(run: string, small: string, { start, end }: Place, extra: Set<string>): void {
  const ends: number[] = []
  for (let at = start + 1; at < end; at++) if (isBorder(run, at)) ends.push(at)
  if (ends.length >= MAX_PARTS) return
  ends.push(end)
  if (ends.length > 1) for (const [place, at] of ends.entries()) extra.add(small.slice(ends[place - 1] ?? start, at))
  for (const [place, at] of ends.entries()) addHalves(small, { start: ends[place - 1] ?? start, end: at }, extra)
}

/** Whether a part begins here: at `aB` and `ABc`. */
function isBorder(run: string, at: number): boolean {
  if (kindAt(run, at) !== UPPER) return false
  const before = kindAt(run, at - 1)
  return before === LOWER || kindAt(run, at + 1) === LOWER
}

/** Adds the letters and the digits of a part that has one after the other. */
function addHalves(small: string, { start, end }: Place, extra: Set<string>): void {
  const isDigit = (at: number): boolean => kindAt(small, at) === DIGIT
  let border = start + 1
  while (border < end && isDigit(border) === isDigit(start)) border++
  if (border >= end) return
  for (let at = border + 1; at < end; at++) if (isDigit(at) === isDigit(start)) return
  extra.add(small.slice(start, border))
  extra.add(small.slice(border, end))
}

/** What ends a segment of a path or an address, and what ends an identifier in one. */
const SEGMENT = /[/:@#]+/u
const IDENTIFIER = /[.+~]+/u
const DASHES = /[-_]/u
const DASH = /[-_]+/gu

/** Adds identifiers that are joined inside a run, whole and as one word. */
function addSegments(small: string, extra: Set<string>): void {
  for (const segment of small.split(SEGMENT)) {
    if (segment.length > MAX_WHOLE || !JOINERS.test(segment)) continue
    extra.add(segment)
    for (const identifier of segment.split(IDENTIFIER))
      if (DASHES.test(identifier)) extra.add(identifier.replaceAll(DASH, ''))
  }
}
