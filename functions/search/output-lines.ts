import { lower } from './fold-text.ts'

/** A line of an output, or a piece of a very long one. */
export interface Row {
  /** Where it begins, in UTF-16 units of the output. */
  readonly start: number
  readonly text: string
}

/** Characters (UTF-16 units) of a row: outputs may be one line of a megabyte. */
const MAX_ROW = 1_000
/** Characters of an answer: in no script more than the 50 KB from which on it would be offloaded itself. */
const MAX_ANSWER = 12_000
const MAX_MATCHES = 50

/** The rows of an output: its lines, long ones in pieces. */
export function rowsOf(text: string): Row[] {
  const rows: Row[] = []
  let start = 0
  for (const line of text.split('\n')) {
    let place = 0
    do {
      const end = pieceEnd(line, place)
      rows.push({ start: start + place, text: line.slice(place, end).replace(/\r$/u, '') })
      place = end
    } while (place < line.length)
    start += line.length + 1
  }
  if (rows.length > 1 && rows.at(-1)?.text === '') rows.pop()
  return rows
}

/** A number of lines, in words. */
export const lineCount = (count: number): string => (count === 1 ? '1 line' : `${count} lines`)

/** Rows `first` to `last`, counted from 1, numbered; says where to go on when they do not fit. */
export function pickLines(
  from: string,
  rows: readonly Row[],
  { first, last }: { first: number; last: number },
): string {
  if (first > rows.length) return `${from}: there is no line ${first}.`
  const wanted = rows.slice(first - 1, Math.min(last, rows.length))
  const shown = fitting(wanted)
  const end = first + shown - 1
  const more = end < Math.min(last, rows.length) ? `\n(cut here: go on with lines ${end + 1}-)` : ''
  const text = wanted.slice(0, shown).map((row, index) => numbered(row, first + index))
  return `${from}, lines ${first}-${end}:\n${text.join('\n')}${more}`
}

/** The rows that have `pattern` in them, whatever its case, with `around` rows before and after each. */
export function findLines(from: string, text: string, rows: readonly Row[], pattern: string, around: number): string {
  const matches = matchingRows(text, rows, pattern)
  if (matches.length === 0) return `${from}: nothing in it matches ${JSON.stringify(pattern)}.`
  const shown = new Set<number>()
  for (const match of matches.slice(0, MAX_MATCHES))
    for (let row = Math.max(0, match - around); row <= Math.min(rows.length - 1, match + around); row++) shown.add(row)
  const wanted = [...shown].toSorted((left, right) => left - right)
  const count = fitting(wanted.flatMap((row) => rows[row] ?? []))
  const lines = wanted.slice(0, count)
  const shownLines = lines.map((row, index) => {
    const gap = index > 0 && lines[index - 1] !== row - 1 ? '…\n' : ''
    return gap + numbered(rows[row] ?? { start: 0, text: '' }, row + 1)
  })
  const last = lines.at(-1) ?? 0
  const left = matches.filter((match) => match > last).length
  const more =
    left > 0
      ? `\n(${left === 1 ? '1 more line matches' : `${left} more lines match`} after line ${last + 1}: read on with lines, or look for more exact text)`
      : ''
  return `${from}, ${matches.length === 1 ? '1 line matches' : `${matches.length} lines match`} ${JSON.stringify(pattern)}:\n${shownLines.join('\n')}${more}`
}

/** Rows in which a match begins, ascending. */
function matchingRows(text: string, rows: readonly Row[], pattern: string): number[] {
  const found: number[] = []
  const lowered = lower(text)
  const wanted = lower(pattern)
  let row = 0
  for (let place = lowered.indexOf(wanted); place >= 0; place = lowered.indexOf(wanted, place + wanted.length)) {
    while ((rows[row + 1]?.start ?? Infinity) <= place) row++
    if (found.at(-1) !== row) found.push(row)
  }
  return found
}

/** How many of the first rows fit an answer; one at least. */
function fitting(rows: readonly Row[]): number {
  let characters = 0
  for (const [index, row] of rows.entries()) {
    characters += row.text.length + 8
    if (characters > MAX_ANSWER) return Math.max(1, index)
  }
  return rows.length
}

function pieceEnd(line: string, place: number): number {
  const end = Math.min(line.length, place + MAX_ROW)
  const code = line.charCodeAt(end - 1)
  return end < line.length && code >= 0xd800 && code <= 0xdbff ? end - 1 : end
}

const numbered = (row: Row, number: number): string => `${number}: ${row.text}`
