import { parseArgs } from 'node:util'
import { OpenSearchError } from '../adapters/opensearch/requests.ts'
import { TooltrailError } from '../domain/errors.ts'
import { reportLostOutput } from './output-errors.ts'
import { SettingsError } from './settings/config.ts'
import { writeToTerminal } from './terminal-output.ts'

/** Exit code of a mistake on the command line. */
export const MISUSED = 2

/** Exit code if no program responds at the given address. */
export const NOT_RUNNING = 3

/** A mistake on the command line; the message names it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** No program responds at the address; the message names it. */
export class NotRunning extends Error {
  override readonly name = 'NotRunning'
}

/** Whether `fetch` rejected because no program responds at the address. */
export const isUnreachable = (error: unknown): boolean => error instanceof TypeError && error.message === 'fetch failed'

export interface CommandLine {
  /** The value of `--env`. If absent, the command applies to this machine. */
  readonly environment?: string
  /** The remaining arguments. */
  readonly argv: readonly string[]
}

/**
 * Runs a command and prints the result of `work`, or the usage on request. If the user can correct an error, prints one
 * line that ends with the next step. The exit code is then 1, or 2 for a mistake on the command line, or 3 if no
 * program responds. If the command was given without arguments, a mistake also prints the usage. Only unexpected errors
 * print their stack.
 */
export async function runCommand(usage: string, work: (line: CommandLine) => Promise<string>): Promise<void> {
  reportLostOutput()
  const argv = process.argv.slice(2)
  try {
    const help = argv.includes('--help') || argv.includes('-h')
    writeToTerminal('stdout', help ? usage : await work(takeEnvironment(argv)))
  } catch (error) {
    const text = printable(error)
    if (text === undefined) throw error
    const isMisused = error instanceof UsageError
    const nextStep = argv.length === 0 ? `\n\n${usage}` : ' Run with --help to see what it takes.\n'
    writeToTerminal('stderr', isMisused ? `${text.replace(/\.?$/, '.')}${nextStep}` : `${text}\n`)
    process.exitCode = isMisused ? MISUSED : error instanceof NotRunning ? NOT_RUNNING : 1
  }
}

/** Returns which of these flags were given. Throws `UsageError` for any other argument. */
export function readFlags<Flag extends string>(argv: readonly string[], flags: readonly Flag[]): ReadonlySet<Flag> {
  const unknown = argv.find((word) => !flags.some((flag) => word === `--${flag}`))
  if (unknown !== undefined) throw new UsageError(`unexpected: ${unknown}`)
  return new Set(flags.filter((flag) => argv.includes(`--${flag}`)))
}

/** Returns the arguments of a command that has no environments. Throws `UsageError` if an environment was given. */
export function argsWithoutEnvironment({ environment, argv }: CommandLine): readonly string[] {
  if (environment === undefined) return argv
  throw new UsageError('--env is not for this command: name a program with --url')
}

/** Returns the environment of a command that needs one. Throws `UsageError` if none was given. */
export function environmentOf({ environment }: CommandLine): string {
  if (environment === undefined) throw new UsageError('name the environment: --env <environment>')
  return environment
}

function takeEnvironment(argv: readonly string[]): CommandLine {
  const { tokens } = parseArgs({
    args: [...argv],
    options: { env: { type: 'string' } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const given = tokens.filter((token) => token.kind === 'option').filter(({ name }) => name === 'env')
  const [option, second] = given
  if (option === undefined) return { argv }
  if (second !== undefined) throw new UsageError('--env was given twice')
  if (option.value === undefined || !/^[a-z][a-z0-9-]*$/.test(option.value))
    throw new UsageError('--env needs the name of an environment, such as dev')
  const rest = argv.filter((_, place) => place !== option.index && (option.inlineValue || place !== option.index + 1))
  return { environment: option.value, argv: rest }
}

/**
 * Returns the line to print for an error that the user can correct. Such errors concern settings, credentials,
 * permissions or the network.
 */
export function printable(error: unknown): string | undefined {
  if (error instanceof SettingsError || error instanceof UsageError || error instanceof NotRunning) return error.message
  if (!(error instanceof Error)) return undefined
  if (error.name === 'CredentialsProviderError')
    return `No AWS credentials were found: set AWS_PROFILE, or log in. (${error.message})`
  if (error.message === 'Region is missing') return 'No AWS region was found: set AWS_REGION.'
  if ('$fault' in error) return `AWS refused: ${error.name}: ${error.message}`
  if (error instanceof OpenSearchError && error.status === 403)
    return `${error.message} Is your role an operator of the environment? See "Operators" in docs/operations/README.md.`
  if (error instanceof OpenSearchError || error instanceof TooltrailError) return error.message
  if ('syscall' in error) return `Could not reach a service: ${error.message}`
  return undefined
}
