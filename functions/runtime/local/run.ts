import { readSettings, SettingsError } from '../config.ts'
import { startLocal } from './start.ts'
import { stopOnSignals } from './stop-signals.ts'

/** Runs the program on this machine until a signal stops it; tells people where it listens, or why it cannot start. */
export async function runProgram(): Promise<void> {
  try {
    const server = await startLocal(readSettings())
    const model = server.model.startsWith('demo/')
      ? `${server.model} (no real model: set MODEL to use one)`
      : server.model
    process.stdout.write(`Tooltrail listens on ${server.url}  docs: ${server.url}/docs  model: ${model}\n`)
    if (server.openAccess)
      process.stdout.write(
        'There is no API key yet: requests from this machine need none, and act for the tenant "default".\n',
      )
    if (server.lockedOut)
      process.stdout.write(
        'All API keys are revoked: make one with: npx tooltrail keys create --tenant <tenant> --scope admin\n',
      )
    stopOnSignals(server.close)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`Tooltrail cannot start. ${error.message}\n`)
    process.exitCode = 1
  }
}
