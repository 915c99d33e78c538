import { KeyCommandError, KEYS_USAGE, runKeyCommand } from './key-command.ts'
import { runCommand, UsageError } from '../runtime/command.ts'
import { readOperationSettings, readSettings } from '../runtime/config.ts'
import { openPorts } from '../runtime/local/open-ports.ts'

await runCommand(KEYS_USAGE, async ({ environment, words }) => {
  const ports =
    environment === undefined
      ? await openPorts(readSettings())
      : await (await import('../runtime/aws/operations.ts')).openOperations(environment, readOperationSettings())
  try {
    return await runKeyCommand(ports, words)
  } catch (error) {
    throw error instanceof KeyCommandError ? new UsageError(error.message, { cause: error }) : error
  } finally {
    await ports.close()
  }
})
