import { styleText } from 'node:util'
import { harmless, writeToTerminal } from '../runtime/terminal-output.ts'

/** The text on one line of at most `most` characters, without control characters. */
export function oneLine(text: string, most: number): string {
  const line = harmless(text).replaceAll(/\s+/gu, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

type Style = Parameters<typeof styleText>[0]

/** Applies a style if the stream supports it (a terminal, and no NO_COLOR). */
const styled = (stream: NodeJS.WriteStream) => (style: Style, text: string) =>
  styleText(style, text, { stream, validateStream: true })

export const onOutput = styled(process.stdout)
export const onErrors = styled(process.stderr)

/** Whether a person can be asked at the terminal. */
export const isInteractive = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

export const print = (text: string): void => writeToTerminal('stdout', text)
/** Prints information for a person, separate from the output for programs. */
export const note = (text: string): void => writeToTerminal('stderr', text)
export const printJson = (value: unknown): void => print(`${harmlessJson(value)}\n`)

/** JSON for a terminal. Control characters that JSON itself allows are escaped as well. */
export const harmlessJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\p{Bidi_Control}]/gu,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Removes control characters from a text in chunks, such as an export. */
export async function* harmlessPieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const piece of pieces) yield harmless(decoder.decode(piece, { stream: true }))
  yield harmless(decoder.decode())
}

/** Prints a line that the next one replaces; `''` clears it. Undefined without a terminal. */
export const progressLine: ((line: string) => void) | undefined =
  process.stderr.isTTY === true ? (line) => note(`\r\u001b[K${line}`) : undefined

const BAR = 30

/**
 * Draws a share from 0 to 1 as a bar. The bar of the prompts library is not used: it captures the keyboard, and ends an
 * interrupted command with exit code 0.
 */
export function bar(share: number): string {
  const full = Math.round(BAR * Math.min(1, share))
  return '█'.repeat(full) + '░'.repeat(BAR - full)
}

/** Aligns the columns of rows; the last column may have any width. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ')
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('')
}

/** Formats a time of the API in local time, to the second. */
export const localTime = (time: string): string => {
  const date = new Date(time)
  const two = (number: number): string => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** Reads standard input; empty if it is a terminal. */
export async function pipedInput(): Promise<string> {
  if (process.stdin.isTTY === true) return ''
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
