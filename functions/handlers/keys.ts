import { KeyCommandError, KEYS_USAGE, runKeyCommand } from '../http/key-command.ts'
import { readSettings, SettingsError } from '../runtime/config.ts'
import { openPorts } from '../runtime/open-ports.ts'

try {
  const ports = await openPorts(readSettings())
  try {
    process.stdout.write(await runKeyCommand(ports, process.argv.slice(2)))
  } finally {
    await ports.close()
  }
} catch (error) {
  if (!(error instanceof KeyCommandError) && !(error instanceof SettingsError)) throw error
  process.stderr.write(`${error.message}\n${error instanceof KeyCommandError ? `\n${KEYS_USAGE}` : ''}`)
  process.exitCode = 1
}
