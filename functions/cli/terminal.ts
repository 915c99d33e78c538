import { styleText } from 'node:util'
import { harmless, writeToTerminal } from '../runtime/terminal-output.ts'

/** The same on one line of at most `most` characters. */
export function oneLine(text: string, most: number): string {
  const line = harmless(text).replaceAll(/\s+/gu, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

type Style = Parameters<typeof styleText>[0]

/** Styled where the stream shows styles (a terminal, and no NO_COLOR). */
const styled = (stream: NodeJS.WriteStream) => (style: Style, text: string) =>
  styleText(style, text, { stream, validateStream: true })

export const onOutput = styled(process.stdout)
export const onErrors = styled(process.stderr)

/** Whether a person is there to be asked. */
export const isInteractive = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

export const print = (text: string): void => writeToTerminal('stdout', text)
/** What a person may want to see beside the output that a program reads. */
export const note = (text: string): void => writeToTerminal('stderr', text)
export const printJson = (value: unknown): void => print(`${harmlessJson(value)}\n`)

/** JSON that a terminal may show: what JSON itself leaves as it is of such characters is escaped, too. */
export const harmlessJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\p{Bidi_Control}]/gu,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Text in pieces, such as an export, as a terminal may show it. */
export async function* harmlessPieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const piece of pieces) yield harmless(decoder.decode(piece, { stream: true }))
  yield harmless(decoder.decode())
}

/** A line that the next one replaces, `''` by none; undefined off a terminal, where nobody looks. */
export const progressLine: ((line: string) => void) | undefined =
  process.stderr.isTTY === true ? (line) => note(`\r\u001b[K${line}`) : undefined

const BAR = 30

/**
 * A share from 0 to 1 as a bar. That of the prompts' library takes the keyboard with it, and ends an interrupted command with 0.
 */
export function bar(share: number): string {
  const full = Math.round(BAR * Math.min(1, share))
  return '█'.repeat(full) + '░'.repeat(BAR - full)
}

/** Rows with their columns below each other; the last one may be of any width. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ')
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('')
}

/** A time of the API as a person reads it here: local, to the second. */
export const localTime = (time: string): string => {
  const date = new Date(time)
  const two = (number: number): string => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** All that comes in on standard input; empty when a person sits there. */
export async function pipedInput(): Promise<string> {
  if (process.stdin.isTTY === true) return ''
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
