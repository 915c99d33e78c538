import { KEYS_USAGE, runKeyCommand } from './keys/key-command.ts'
import { KeyCommandError } from './keys/key-options.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { readAgentNames } from '../../runtime/settings/agents-file.ts'
import { runCommand, UsageError } from '../../runtime/command.ts'
import { readOperationSettings, readSettings } from '../../runtime/settings/config.ts'
import { note } from '../terminal.ts'
import { openPorts } from '../../runtime/local/open-ports.ts'

await runCommand(KEYS_USAGE, async ({ environment, argv }) => {
  const ports =
    environment === undefined
      ? await openPorts(readSettings())
      : await (await import('../../runtime/aws/operations.ts')).openOperations(environment, readOperationSettings())
  // Not read for a deployed environment, because its agents may differ from those in the local file.
  const declared = environment === undefined ? () => readAgentNames(readSettings().agentsFile) : undefined
  try {
    const dependencies = { keys: ports.keys, clock: ports.clock, ...definedFields({ declared }) }
    const printed = await runKeyCommand(dependencies, argv)
    note(printed.note)
    return printed.output
  } catch (error) {
    throw error instanceof KeyCommandError ? new UsageError(error.message, { cause: error }) : error
  } finally {
    await ports.close()
  }
})
