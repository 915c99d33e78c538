import { eachRow, type Pieces } from './output-rows.ts'

/** An output from which lines are read or searched. */
export interface WholeOutput {
  /** Name of the output for people and models. */
  readonly name: string
  readonly toolName: string
  readonly pieces: Pieces
  /** Called periodically; stops the reading by throwing. */
  readonly resume: () => void
}

interface NumberedRow {
  readonly number: number
  readonly text: string
  readonly matched: boolean
}

/**
 * Maximum characters of an excerpt. In every script, an excerpt has less than 50 KB. A larger excerpt would itself be
 * offloaded.
 */
const MAX_EXCERPT = 12_000
const MAX_MATCHES = 50

/**
 * Returns rows `first` to `last`, numbered from 1. If they do not fit into an excerpt, the returned text names the line
 * from which to continue.
 */
export async function pickLines(
  output: WholeOutput,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<string> {
  const rows: NumberedRow[] = []
  let count = 0
  let characters = 0
  await eachRow(output.pieces, undefined, output.resume, (text, matched) => {
    count++
    if (count < first || count > last || characters > MAX_EXCERPT) return
    characters += costOf(text)
    rows.push({ number: count, text, matched })
  })
  const from = nameOf(output, count)
  if (first > count) return `${from}: there is no line ${first}.`
  const shown = fitting(rows)
  const end = first + shown.length - 1
  const more = end < Math.min(last, count) ? `\n(cut here: go on with lines ${end + 1}-)` : ''
  return `${from}, lines ${first}-${end}:\n${shown.map(numbered).join('\n')}${more}`
}

/** Returns the rows that contain `pattern`, ignoring case, with `around` rows before and after each. */
export async function findLines(output: WholeOutput, pattern: string, around: number): Promise<string> {
  const near: NumberedRow[] = []
  let before: NumberedRow[] = []
  let [count, matches, until] = [0, 0, 0]
  await eachRow(output.pieces, pattern, output.resume, (text, matched) => {
    const row = { number: ++count, text, matched }
    if (matched && ++matches <= MAX_MATCHES) until = count + around
    if (count <= until) {
      near.push(...before, row)
      before = []
    } else if (around > 0 && matches < MAX_MATCHES) {
      before.push(row)
      if (before.length > around) before.shift()
    }
  })
  const from = nameOf(output, count)
  if (matches === 0) return `${from}: nothing in it matches ${JSON.stringify(pattern)}.`
  const lines = fitting(near)
  const shown = lines.map((row, index) => {
    const gap = index > 0 && lines[index - 1]?.number !== row.number - 1 ? '…\n' : ''
    return gap + numbered(row)
  })
  const left = matches - lines.filter(({ matched }) => matched).length
  const more =
    left > 0
      ? `\n(${left === 1 ? '1 more line matches' : `${left} more lines match`} after line ${lines.at(-1)?.number}: read on with lines, or look for more exact text)`
      : ''
  return `${from}, ${matches === 1 ? '1 line matches' : `${matches} lines match`} ${JSON.stringify(pattern)}:\n${shown.join('\n')}${more}`
}

const nameOf = ({ name, toolName }: WholeOutput, count: number): string =>
  `${name} (${toolName}, ${count === 1 ? '1 line' : `${count} lines`})`

/** Returns the first rows that fit an excerpt, at least one. */
function fitting(rows: readonly NumberedRow[]): readonly NumberedRow[] {
  let characters = 0
  const end = rows.findIndex(({ text }) => (characters += costOf(text)) > MAX_EXCERPT)
  return end < 0 ? rows : rows.slice(0, Math.max(1, end))
}

const costOf = (text: string): number => text.length + 8
const numbered = ({ number, text }: NumberedRow): string => `${number}: ${text}`
