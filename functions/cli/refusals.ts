import { ApiProblem } from '../client/problem.ts'
import { isUnreachable, MISUSED, NOT_RUNNING, NotRunning, printable } from '../runtime/command.ts'
import { causeOf } from './commands/doctor.ts'
import { Failed } from './input.ts'
import { oneLine } from './terminal.ts'

/**
 * Returns the line for an error that the user can correct, with the next step. Undefined for other errors. `url`: the
 * address of the program, if there is one.
 */
export function lineOf(error: unknown, url = ''): string | undefined {
  if (error instanceof Failed) return error.message
  if (error instanceof ApiProblem) return oneLine(error.message, 1_000) + nextStep(error, url)
  if (isUnreachable(error))
    return `Nothing responds at ${url === '' ? 'the program' : url} (${causeOf(error)}). Check the address, or start a program there: tooltrail start`
  return printable(error)
}

/** The next step after an error, if its text does not give one. */
function nextStep({ code, status }: ApiProblem, url: string): string {
  if (status === 401)
    return url === ''
      ? ' in the data folder of this machine; name the program that knows it with --url or TOOLTRAIL_URL'
      : '; give one with --key or TOOLTRAIL_KEY'
  if (code === 'not_found') return '. See what is wrong: tooltrail doctor. What there is: tooltrail sessions'
  if (code === 'session_not_found') return '. List them: tooltrail sessions'
  if (code === 'agent_not_found') return '. See which there are in agents.json (TOOLTRAIL_AGENTS)'
  if (code === 'unexpected_response') return '. Check the address: tooltrail doctor'
  return ''
}

/** The exit code of an error. A rejected query field is a mistake on the command line. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Failed) return error.exitCode
  if (isUnreachable(error) || error instanceof NotRunning) return NOT_RUNNING
  const isRefused = error instanceof ApiProblem && error.code === 'invalid_request'
  return isRefused && error.problem.errors?.some(({ path }) => path.startsWith('query.')) === true ? MISUSED : 1
}
