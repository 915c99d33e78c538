import { steadyTime } from '../domain/time/steady-time.ts'
import { z } from 'zod'
import { findLines, pickLines } from '../search/documents/output-lines.ts'
import type { ReadableOutput } from '../ports/tool.ts'
import { defineTool } from './define-tool.ts'

const MAX_CONTEXT = 20
const DEFAULT_CONTEXT = 2
/** Time limit for reading a whole output; 100 MB take some seconds. This limit is shorter than the tool's timeout. */
const READ_TIMEOUT_MS = 30_000

/** Schema of the arguments that select a part of an output. */
export const readOutputInput = z.strictObject({
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

export const READ_OUTPUT_DESCRIPTION =
  'Reads a tool result that was shortened or comes from the history: a range of lines, or the lines around a text. ' +
  'Lines longer than 1,000 characters count as several. It returns some 12,000 characters at most.'

/** Reads parts of any tool result within the agent's scope. */
export const readOutput = defineTool({
  name: 'read_output',
  description: READ_OUTPUT_DESCRIPTION,
  input: readOutputInput,
  idempotent: true,
  execute: async (input, context) => ({ text: await readPart(input, context) }),
})

interface Reading {
  readonly signal: AbortSignal
  now(): number
  /** Finds the output of a pointer; undefined if it does not exist or the reader may not see it. */
  readOutput(pointer: string): Promise<Pick<ReadableOutput, 'toolName' | 'pieces'> | undefined>
}

/** Returns the requested part of an output, as text for a model. Rejects with a message that names the next step. */
export async function readPart(
  { pointer, lines, pattern, context: around }: z.output<typeof readOutputInput>,
  reading: Reading,
): Promise<string> {
  if (lines !== undefined && pattern !== undefined)
    throw new TypeError('give either lines or pattern, not both: pattern looks through the whole output')
  const output = await reading.readOutput(pointer)
  if (output === undefined)
    throw new TypeError(
      `there is no output behind ${pointer}: take the pointer from a tool result or from search_history`,
    )
  const now = steadyTime(() => reading.now())
  const begun = now()
  const resume = (): void => {
    reading.signal.throwIfAborted()
    if (now() - begun > READ_TIMEOUT_MS)
      throw new RangeError(
        `${pointer} is too large: reading it took longer than ${READ_TIMEOUT_MS / 1_000} s. Use search_history to find the part you need`,
      )
  }
  const whole = { name: pointer, toolName: output.toolName, pieces: output.pieces, resume }
  return pattern === undefined ? pickLines(whole, rangeOf(lines)) : findLines(whole, pattern, around)
}

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
