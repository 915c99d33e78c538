import { Validator } from '@cfworker/json-schema'
import type { Schema } from '@cfworker/json-schema'
import { runInNewContext } from 'node:vm'
import type { Json } from '../../domain/json.ts'
import type { ClientTool, Run } from '../../domain/run.ts'
import { parseArguments } from './tool-call.ts'

/** Milliseconds that one check may take: a pattern may need longer than any run for some texts. */
const CHECK_MS = 250
/** Checks of one run that may take too long; after that, none is begun. */
const MOST_TOO_LONG = 4
const MOST_FAULTS = 10

/** Of a run that is executed here, the checks that took too long. */
const tooLong = new WeakMap<Run, number>()

/**
 * Why the arguments of a call do not fit the schema of a client tool that is strict, for the model; undefined if they fit,
 * or the tool is not strict. The time is bounded for the run, whatever schemas and arguments: what cannot be checked does not fit.
 */
export function strictFault(run: Run, tool: ClientTool, text: string): string | undefined {
  if (tool.strict !== true) return undefined
  const input = parseArguments(text)
  if (input === undefined) return `the arguments are not valid JSON: ${text}`
  const late = tooLong.get(run) ?? 0
  const faults = late < MOST_TOO_LONG ? faultsWithin(CHECK_MS, tool, input) : undefined
  if (faults === undefined) {
    tooLong.set(run, late + 1)
    return `the arguments could not be held against the schema of ${tool.name} in time`
  }
  if (faults.length === 0) return undefined
  return [`the arguments do not fit the schema of ${tool.name}:`, ...faults.slice(0, MOST_FAULTS)].join('\n')
}

/** What of the arguments does not fit, each with its JSON Pointer; undefined where this takes too long. */
function faultsWithin(timeout: number, { parameters }: ClientTool, input: Json): string[] | undefined {
  const check = (): string[] => {
    const { errors } = new Validator(parameters as Schema, '2020-12', false).validate(input)
    return errors.map(({ instanceLocation, error }) => `- ${instanceLocation}: ${error}`)
  }
  try {
    // The time-out of a context of its own ends whatever runs in it, a regular expression, too.
    return runInNewContext('check()', { check }, { timeout }) as string[]
  } catch (error) {
    if (isTooLong(error)) return undefined
    throw error
  }
}

/** Errors of another context are instances of its own classes. */
function isTooLong(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const isOutOfStack = 'name' in error && error.name === 'RangeError'
  return isOutOfStack || ('code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
}
