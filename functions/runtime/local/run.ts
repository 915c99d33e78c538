import { TooltrailError } from '../../domain/errors.ts'
import { readSettings } from '../settings/config.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { ignoreOutputErrors } from '../output-errors.ts'
import { beforeEachLine } from '../settings/setting-text.ts'
import { startLocal } from './start.ts'
import { stopOnSignals } from './stop-signals.ts'
import { writeToTerminal } from '../terminal-output.ts'

/** Runs the program on this machine until a signal stops it. Prints where it listens, or why it cannot start. */
export async function runProgram(): Promise<void> {
  ignoreOutputErrors()
  try {
    const server = await startLocal(readSettings())
    const model = server.model.startsWith('demo/')
      ? `${server.model} (no real model: set MODEL to use one)`
      : server.model
    writeToTerminal('stdout', `Tooltrail listens on ${server.url}  docs: ${server.url}/docs  model: ${model}\n`)
    for (const line of server.unlistedTools)
      writeToTerminal('stdout', `The ${line}. To keep this, write "tools": "all".\n`)
    if (server.openAccess)
      writeToTerminal(
        'stdout',
        'There is no API key yet: requests from this machine need none, and act for the tenant "default".\n',
      )
    if (server.lockedOut)
      writeToTerminal(
        'stdout',
        'All API keys are revoked or expired: make one with: npx tooltrail keys create --tenant <tenant> --scope admin\n',
      )
    stopOnSignals(server.close)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    writeToTerminal('stderr', `${beforeEachLine('Tooltrail cannot start. ', reason)}\n`)
    process.exitCode = 1
  }
}

/** Returns the reason for an error that the person who starts the program can fix; undefined for a bug of ours. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof SettingsError) return error.message
  const isStorage = error instanceof TooltrailError && error.code === 'storage_failed'
  const cause: unknown = isStorage ? (error.cause ?? error) : error
  if (!(cause instanceof Error)) return undefined
  if ('$fault' in cause) return `The storage refuses: ${cause.name}: ${cause.message}`
  if (!isStorage && !isOfNetwork(cause)) return undefined
  return `The storage does not respond: ${cause.message === '' ? cause.name : cause.message}`
}

/**
 * Whether a network request at the start failed. Node's network errors name a system call; the AWS packages' errors are
 * named `TimeoutError`.
 */
const isOfNetwork = (error: Error): boolean => 'syscall' in error || error.name === 'TimeoutError'
