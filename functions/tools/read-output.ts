import { z } from 'zod'
import { findLines, lineCount, pickLines, rowsOf } from '../search/output-lines.ts'
import { defineTool } from './define-tool.ts'

const MAX_CONTEXT = 20
const DEFAULT_CONTEXT = 2

const input = z.strictObject({
  pointer: z.string().describe('output:<id>, as shown in a tool result or by search_history.'),
  lines: z
    .string()
    .regex(/^\s*\d{1,9}\s*(?:-\s*\d{0,9}\s*)?$/u, 'a line such as 120, or lines such as 120-180 or 120-')
    .optional()
    .describe('A line or a range of lines, counted from 1: 120, 120-180, 120-. Left out with pattern: from the start.'),
  pattern: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Plain text to find, whatever its case; not a regular expression. Shows the lines that have it.'),
  context: z
    .int()
    .min(0)
    .max(MAX_CONTEXT)
    .default(DEFAULT_CONTEXT)
    .describe('With pattern: how many lines to show before and after each match.'),
})

/** Lets an agent read any tool result within its scope, piece by piece. */
export const readOutput = defineTool({
  name: 'read_output',
  description:
    'Reads a tool result that was shortened or comes from the history: a range of lines, or the lines around a text. ' +
    'Lines longer than 1,000 characters count as several. It returns some 12,000 characters at most.',
  input,
  idempotent: true,
  async execute({ pointer, lines, pattern, context: around }, context) {
    if (lines !== undefined && pattern !== undefined)
      throw new TypeError('give either lines or pattern, not both: pattern looks through the whole output')
    const output = await context.readOutput(pointer)
    if (output === undefined)
      throw new TypeError(
        `there is no output behind ${pointer}: take the pointer from a tool result or from search_history`,
      )
    const rows = rowsOf(output.text)
    const from = `${pointer} (${output.toolName}, ${lineCount(rows.length)})`
    if (pattern !== undefined) return { text: findLines(from, output.text, rows, pattern, around) }
    return { text: pickLines(from, rows, rangeOf(lines)) }
  },
})

function rangeOf(lines: string | undefined): { first: number; last: number } {
  if (lines === undefined) return { first: 1, last: Infinity }
  const [first, last] = lines.split('-').map((part) => part.trim())
  const start = Math.max(1, Number(first))
  if (last === undefined) return { first: start, last: start }
  const end = last === '' ? Infinity : Number(last)
  if (end < start)
    throw new RangeError(
      `lines ${lines.trim()} end before they begin: count from 1, the smaller number first, as in 2-5`,
    )
  return { first: start, last: end }
}
