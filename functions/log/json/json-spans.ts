import { endOfString, QUOTE } from './json-size.ts'

/** Position of a value in a JSON text: from its first character to the one after its last. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Returns the positions of an object's property values, by name. For a repeated name, the last one counts. The text
 * must be valid JSON, and the object begins at `from`. Only the names are parsed.
 */
export function propertiesAt(text: string, { from }: Pick<Span, 'from'>): ReadonlyMap<string, Span> {
  const found = new Map<string, Span>()
  for (let at = skipSpace(text, from + 1); text[at] === '"';) {
    const nameEnd = endOfString(text, at) + 1
    const name = JSON.parse(text.slice(at, nameEnd)) as string
    const value = valueAt(text, skipSpace(text, nameEnd) + 1)
    found.set(name, value)
    at = skipSpace(text, skipSpace(text, value.to) + 1)
  }
  return found
}

/** Returns the positions of the items of the list that begins at `from`. */
export function itemsAt(text: string, { from }: Pick<Span, 'from'>): readonly Span[] {
  const found: Span[] = []
  let at = skipSpace(text, from + 1)
  while (text[at] !== ']' && at < text.length) {
    const item = valueAt(text, at)
    found.push(item)
    at = skipSpace(text, item.to)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return found
}

/** Returns the position of the value that begins here, or after white space. */
export function valueAt(text: string, begin: number): Span {
  const from = skipSpace(text, begin)
  if (text.charCodeAt(from) === QUOTE) return { from, to: endOfString(text, from) + 1 }
  if (text[from] !== '{' && text[from] !== '[') {
    const end = text.slice(from).search(/[\s,\]}]/u)
    return { from, to: end === -1 ? text.length : from + end }
  }
  const bracket = /["[\]{}]/gu
  bracket.lastIndex = from
  let depth = 0
  for (let found = bracket.exec(text); found !== null; found = bracket.exec(text)) {
    if (found[0] === '"') bracket.lastIndex = endOfString(text, found.index) + 1
    else depth += found[0] === '{' || found[0] === '[' ? 1 : -1
    if (depth === 0) return { from, to: found.index + 1 }
  }
  return { from, to: text.length }
}

/**
 * Returns the JSON of a value without white space between tokens. Numbers keep their spelling. Strings are written by
 * `JSON.stringify`.
 */
export function compactJson(text: string, { from, to }: Span): string {
  const pieces: string[] = []
  const special = /"|\s+/gu
  special.lastIndex = from
  let begin = from
  for (let found = special.exec(text); found !== null && found.index < to; found = special.exec(text)) {
    const at = found.index
    pieces.push(text.slice(begin, at))
    begin = special.lastIndex
    if (found[0] !== '"') continue
    begin = special.lastIndex = endOfString(text, at) + 1
    const string = text.slice(at, begin)
    pieces.push(string.includes('\\') ? JSON.stringify(JSON.parse(string)) : string)
  }
  pieces.push(text.slice(begin, to))
  return pieces.join('')
}

function skipSpace(text: string, from: number): number {
  const space = /\s*/uy
  space.lastIndex = from
  space.exec(text)
  return space.lastIndex
}
